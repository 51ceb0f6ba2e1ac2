import CSyscalls

extension Share {
    /// Removes a file or tree with its locks and properties.
    ///
    /// A tree vanishes from its name at once and is removed out of sight; what can't be removed comes back under its
    /// name. For a link, the link itself is removed.
    /// - Parameters:
    ///   - path: must exist.
    ///   - precondition: what may be there.
    /// - Returns: the members that could not be removed; empty when everything is gone.
    /// - Throws: ``RootError/notFound``, ``RootError/selfReference`` for the root, and what forbids the whole removal.
    public func remove(
        _ path: SharePath, when precondition: Replacement = .anything
    ) throws(RootError) -> [MemberFailure] {
        let path = try deletable(path)
        try ask(.delete(path))
        // An unconditional removal need not keep other processes out, nor have the state folder created on a disk that
        // may be full.
        var isConditional = self.precondition != nil
        if case .when = precondition { isConditional = true }
        let doomed = try root.commitLock.withLock(creating: isConditional) { (_) throws(RootError) -> DoomedTree? in
            let location = try locateSource(path, followsLink: false)
            if case .when = precondition { try requireMatch(precondition, try contentStatus(of: location)) }
            try requireRights(throughout: .delete, at: path, location.path)
            try checkLocks(WriteUse(changes: lead(of: location), trees: [location.path]))
            let status = location.status
            let kept = try keepInTrash(location, isReplaced: false)
            let isKept = kept.isMoved
            var isDone = false
            defer { if !isDone { root.state.trash.giveBack(kept, to: location, of: root) } }
            let doomed = isKept ? nil : try detach(location)
            isDone = true
            // What can't be hidden is removed in its place, and is not gone yet.
            if doomed?.isInPlace != true { didRemove(location.path, isKept || doomed != nil ? nil : status) }
            if root.policy.waitsForDisk { try syncDirectory(of: location, kept) }
            return doomed
        }
        let failures = try doomed.map { (doomed) throws(RootError) in try takeApart(doomed) } ?? []
        if failures.isEmpty { tell(.delete(path)) }
        return failures
    }

    /// A directory that is waiting for its removal.
    struct DoomedTree: Sendable {
        /// Where it is now.
        var place: ScratchPlace
        /// Where it was, from the root.
        var path: SharePath
        /// Whether it still has its own name, because it could not be hidden.
        var isInPlace = false
        /// For the process that finishes the removal if this one is killed.
        var note: RemovalNote?
        /// Files that were changed later than this stay; nil when all may be removed.
        var changedBy: Timestamp?
    }

    /// Removes a name at once: a file or an empty directory entirely, any other tree by hiding it.
    /// - Returns: the tree that is left to remove.
    private func detach(_ location: borrowing Location) throws(RootError) -> DoomedTree? {
        let directory = location.directory.number
        guard location.status?.isDirectory == true else {
            try unsafe check(location.withName { unsafe sys_unlinkat(directory, $0, 0) }, "unlinkat")
            return nil
        }
        let answer = unsafe location.withName { unsafe sys_unlinkat(directory, $0, 1) }
        if answer == 0 { return nil }
        guard answer == -ENOTEMPTY || answer == -EEXIST else { throw RootError(answer, "unlinkat") }
        let place = try location.place()
        let path = location.path
        guard let hidden = try root.hide(place, noting: { RemovalNote($0, at: path, in: root) }) else {
            return DoomedTree(place: place, path: path, isInPlace: true)
        }
        return DoomedTree(place: hidden.place, path: path, note: hidden.note)
    }

    /// Removes a tree; what remains keeps its name, or gets it back.
    func takeApart(_ doomed: DoomedTree) throws(RootError) -> [MemberFailure] {
        let path = doomed.path
        let left: (path: SharePath, failures: [TreeRemoval.Failure])
        if doomed.isInPlace {
            left = (
                path,
                TreeRemoval.remove(
                    doomed.place.name, in: doomed.place.directory.number, changedBy: doomed.changedBy,
                    forget: try forgetting())
            )
            if left.failures.isEmpty { didRemove(path, nil) }
        } else {
            left = try root.takeApart(doomed.place, from: path)
            doomed.note?.end()
        }
        return left.failures.map { failure in
            let member = failure.names.reduce(left.path) { $0.appendingIfFits($1) }
            return MemberFailure(path: member.relative(to: base) ?? .root, error: failure.error)
        }
    }

    /// Removes what was replaced; what can't be removed gets no name back, but is tried again a day later.
    /// - Parameters:
    ///   - place: where it is.
    ///   - isOurs: whether it is a copy that we created and nobody has seen.
    /// - Returns: whether nothing of it is left.
    @discardableResult
    func discard(_ place: ScratchPlace, isOurs: Bool = false) -> Bool {
        let forget = (try? forgetting()) ?? nil
        return TreeRemoval.remove(place.name, in: place.directory.number, isOurs: isOurs, forget: forget).isEmpty
    }

    /// The status of what is at a location; of a link, that of its target.
    func contentStatus(of location: borrowing Location) throws(RootError) -> sys_attributes? {
        guard let status = location.status, status.isLink else { return location.status }
        return try look(at: location.path, waiting: true).status
    }
}

extension DirectoryRoot {
    /// Removes a hidden tree; what remains gets its old name back, or the next free one.
    /// - Returns: where the rest is, and why.
    /// - Throws: what keeps the rest from getting a name.
    func takeApart(
        _ place: ScratchPlace, from path: SharePath
    ) throws(RootError) -> (path: SharePath, failures: [TreeRemoval.Failure]) {
        let failures = TreeRemoval.remove(
            place.name, in: place.directory.number, forget: try state.properties.forgetting())
        return (failures.isEmpty ? path : try restore(place, to: path), failures)
    }

    /// Gives what could not be removed a name that users see.
    func restore(_ place: ScratchPlace, to path: SharePath) throws(RootError) -> SharePath {
        try commitLock.withLock { () throws(RootError) in try nameAgain(place, path) }
    }

    /// Gives what stands out of sight its name back, or the next free one; under the commit lock.
    ///
    /// If its folder has been moved or removed meanwhile, that folder is created again: in any other folder, other
    /// rules might open it to others.
    /// - Returns: where it is.
    /// - Throws: what keeps it from getting a name.
    func nameAgain(_ place: ScratchPlace, _ path: SharePath) throws(RootError) -> SharePath {
        do throws(RootError) {
            return try nameAgain(place, beside: path)
        } catch .parentMissing {
            try makeFolder(path.parent)
            return try nameAgain(place, beside: path)
        }
    }

    /// Creates a folder again, with those above it, with access for ourselves alone: nobody knows who had access to it.
    private func makeFolder(_ path: SharePath) throws(RootError) {
        do throws(RootError) {
            try makeLastFolder(of: path)
        } catch .parentMissing where !path.isRoot {
            try makeFolder(path.parent)
            // Only once: what is above may be a dangling link.
            try makeLastFolder(of: path)
        }
    }

    private func makeLastFolder(of path: SharePath) throws(RootError) {
        let location = try locate(path, followsLink: false)
        guard location.status == nil else { return }
        try unsafe check(location.withName { unsafe sys_mkdirat(location.directory.number, $0, 0o700) }, "mkdirat")
    }

    private func nameAgain(_ place: ScratchPlace, beside path: SharePath) throws(RootError) -> SharePath {
        // The second thing of a name is called `name (2)`.
        for number in 0..<1_000 where number != 1 {
            let location = try locate(path.numbered(number, isDirectory: true), followsLink: false)
            if location.status != nil { continue }
            do throws(RootError) {
                try renameToFreeName(place, location)
                return location.path
            } catch .exists {
                continue
            }
        }
        throw .exists
    }
}
