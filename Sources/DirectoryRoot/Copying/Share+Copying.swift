import CSyscalls

extension Share {
    /// Copies a file or a tree, with dead properties and modification times and without locks.
    ///
    /// The copy is built out of sight and then swapped in: an existing target is replaced whole or not at all. When
    /// some members could not be copied, a new target holds the others, and an existing target stays as it was. Links
    /// are copied as what they point at.
    /// - Parameters:
    ///   - source: must exist.
    ///   - target: its parent must exist.
    ///   - recursive: false copies a folder without its members.
    ///   - replacing: what may be at the target.
    /// - Returns: whether the target is new, and the members that could not be copied.
    /// - Throws: ``RootError/notFound``, ``RootError/parentMissing``, ``RootError/exists``,
    ///   ``RootError/selfReference``, ``RootError/noSpace``, …
    public func copy(
        _ source: SharePath, to target: SharePath, recursive: Bool = true, replacing: Replacement
    ) throws(RootError) -> TransferResult {
        guard !target.isRoot else { throw root.policy.isReadOnly ? .readOnly : .selfReference }
        let target = try writable(target, orElse: .selfReference)
        let source = try absolute(source)
        try ask(.copy(from: source, to: target))
        let result = try transfer(source, to: target, recursive: recursive, replacing: replacing, takingAway: nil)
        tell(.copy(from: source, to: target))
        return result
    }

    /// Copies for ``copy(_:to:recursive:replacing:)`` and for moves across file systems.
    ///
    /// Paths are from the root.
    /// - Parameters:
    ///   - source: must exist.
    ///   - target: its parent must exist.
    ///   - recursive: false copies a folder without its members.
    ///   - replacing: what may be at the target.
    ///   - takingAway: removes the source of a move: called with where the copy really is once it has its name, before
    ///     any other write can happen.
    /// - Returns: whether the target is new, and the members that could not be copied.
    /// - Throws: the same errors, and ``RootError/changedMeanwhile`` when the source of a move was written to meanwhile; then
    ///   nothing has been changed.
    func transfer(
        _ source: SharePath, to target: SharePath, recursive: Bool, replacing: Replacement,
        takingAway: ((Departure, SharePath) throws(RootError) -> Void)?
    ) throws(RootError) -> TransferResult {
        let origin = try openVisible(source, flags: O_RDONLY | O_NONBLOCK | O_NOCTTY, waiting: true)
        guard granted(at: source).contains(.read) else { throw .forbidden }
        let request = CopyRequest(
            source: source, realSource: origin.realPath, target: target, replacing: replacing,
            isDirectory: origin.attributes.isDirectory, takingAway: takingAway)
        let status = try origin.descriptor.status()
        let location = try locateTarget(target, followsLink: false)
        try requireCopyTarget(location, request, status)
        guard !origin.attributes.isDirectory else {
            return try copyTree(origin, near: location, request, recursive: recursive)
        }
        try root.requireSpace(for: status.room, at: location.directory.number)
        // A move's copy may hold what nobody else may read, and gets the source's own bits once it is complete. Any
        // other copy has the source's bits as far as new files get them: a program stays executable, and what was
        // closed stays closed.
        let file = try TemporaryFile(
            in: root, near: location.directory, permissions: request.isMove ? 0o600 : status.mode & 0o777)
        try copyContent(of: origin.descriptor.number, status, to: file.descriptor, isMove: request.isMove)
        try copyProperties(from: origin.descriptor.number, at: origin.realPath, to: file.descriptor, at: location.path)
        try file.order(durably: request.isDurable(root))
        var replaced: ScratchPlace?
        // Also when a step after the swap fails.
        defer { if let replaced { discard(replaced) } }
        let created = try root.commitLock.withLock { () throws(RootError) -> Bool in
            try placeCopy(file, request, status, &replaced)
        }
        return TransferResult(created: created, failures: [])
    }

    /// Gives a copied file its name.
    /// - Parameters:
    ///   - file: the copy.
    ///   - request: what is copied to where.
    ///   - status: of the source.
    ///   - replaced: set to what stands out of sight and is still to be removed: what was replaced, or the copy itself.
    /// - Returns: whether the name is new.
    /// - Throws: what forbids it, or what the disk reports.
    private func placeCopy(
        _ file: TemporaryFile, _ request: CopyRequest, _ status: sys_attributes, _ replaced: inout ScratchPlace?
    ) throws(RootError) -> Bool {
        var location = try locateTarget(request.target, followsLink: false)
        let departure = try requireUnchanged(request, status)
        try requireCopyTarget(location, request, status)
        let old = location.status
        // Before the replacement: if the source can't be removed, what was replaced would be lost.
        if old != nil { try departure?.rehearse() }
        var kept = Trash.Kept.nothing
        var isDone = false
        defer {
            if isDone {
                kept.end()
                if let old { didReplace(location.path, old, byFile: true) }
                if let old, !kept.isMoved, replaced == nil { forgetProperties(of: old) }
            } else {
                root.state.trash.giveBack(kept, to: location, of: root)
            }
        }
        if let done = try replaceThroughTrash(file, at: location) {
            kept = done
        } else {
            kept = try keepInTrash(location)
            if kept.isMoved { try location.refresh() }
            replaced = try swapAside(file, at: location, keepsFile: request.isMove)
            if replaced == nil { try file.place(at: location, of: root) }
        }
        isDone = true
        do throws(RootError) {
            if request.isDurable(root) {
                // The source of a move is removed only after this.
                try syncDirectory(of: location, kept, having: file.descriptor, atOnce: request.isMove)
                try WriteBack.waitForName(of: file.descriptor)
            }
            if let departure, !departure.isTheCopy {
                // Writing the copy to the disk took time, in which the source may have been written to.
                guard departure.isUnchanged else { throw .changedMeanwhile }
                try request.takingAway?(departure, location.path)
            }
        } catch {
            // If the source can't be removed, it stays, and its copy is taken back.
            if let departure, !departure.isTheCopy, departure.isHere {
                try takeBackFile(file, &location, &kept, &replaced, wasFree: old == nil)
                isDone = false
            }
            throw error
        }
        let arrived = (try? file.status()).flatMap { FileAttributes($0) }
        if let arrived { root.recentCommits.note(arrived.entityTag, by: origin) }
        noteArrival(arrived, at: location.path)
        return old == nil
    }

    /// Undoes ``placeCopy(_:_:_:_:)``.
    /// - Throws: no error that would mean that everything is as before when it is not.
    private func takeBackFile(
        _ file: TemporaryFile, _ location: inout Location, _ kept: inout Trash.Kept, _ replaced: inout ScratchPlace?,
        wasFree: Bool
    ) throws(RootError) {
        guard !wasFree else {
            // If somebody else has put another file there meanwhile, that stays.
            try location.refresh()
            guard let now = location.status, try now.isSame(as: file.status()) else { return }
            let answer = unsafe location.withName { unsafe sys_unlinkat(location.directory.number, $0, 0) }
            guard answer == 0 else { throw .system(errno: -answer, call: "take back a copy") }
            return
        }
        let aside = replaced
        guard let place = aside ?? (try? root.scratch.place(near: location.directory)) else {
            throw .system(errno: EMFILE, call: "take back a copy")
        }
        // What can't be put back must not be removed now.
        replaced = nil
        try takeBack(place, from: &location, &kept, wasSwapped: aside != nil, wasFree: false)
        // The copy.
        replaced = place
    }

    /// Swaps a file with a folder at its target, or with the file that a move replaces, which is kept until the source
    /// is removed.
    /// - Returns: where what was replaced stands now; nil when nothing is to be kept, or the file system can't exchange
    ///   two files in one step.
    private func swapAside(
        _ file: TemporaryFile, at location: borrowing Location, keepsFile: Bool
    ) throws(RootError) -> ScratchPlace? {
        guard let old = location.status, old.isDirectory || keepsFile else { return nil }
        let place = try file.nameInScratch(near: location.directory, of: root)
        if old.isDirectory {
            try swap(place, with: location)
        } else {
            let answer = root.exchange(place, with: location)
            if answer != 0 {
                try Self.requireLackOfExchange(answer)
                return nil
            }
        }
        file.giveUpName()
        return place
    }

    /// Exchanges what is at `place` with a folder.
    /// - Throws: ``RootError/forbidden`` where the file system can't move such a folder, as overlayfs can't move one of
    ///   a lower layer; what the disk reports.
    func swap(_ place: ScratchPlace, with location: borrowing Location) throws(RootError) {
        let answer = root.swap(place, with: location)
        guard answer != -EXDEV else { throw .forbidden }
        try check(answer, "renameat2")
    }

    /// Checks everything that decides whether the copy may take its place.
    func requireCopyTarget(
        _ location: borrowing Location, _ request: CopyRequest, _ status: sys_attributes
    ) throws(RootError) {
        for source in [request.source, request.realSource] {
            guard !source.contains(location.path), !location.path.isAncestor(of: source) else {
                throw .selfReference
            }
        }
        if status.isDirectory {
            if let old = location.status, old.isSame(as: status) { throw .selfReference }
            guard try !root.isBelow(status, location.directory) else { throw .selfReference }
        }
        // One directory mounted at two places: the copy would replace its own source.
        if request.isMove, let old = location.status, old.isSame(as: status) { throw .selfReference }
        try requireMatch(request.replacing, try contentStatus(of: location))
        if request.isDirectory { try requireRights(throughout: .create, at: request.target, location.path) }
        if let old = location.status {
            if old.isDirectory {
                try requireRights(throughout: [.overwrite, .delete], at: request.target, location.path)
                guard !root.policy.refusesDelete else { throw .forbidden }
            }
            try requireReplaceable(location, asked: request.target)
            try checkLocks(WriteUse(changes: lead(of: location), trees: [location.path]))
        } else {
            try requireNewName(request.target, location.path, isDirectory: request.isDirectory)
            try checkLocks(WriteUse(bindings: [location.path]))
        }
    }

    /// Makes sure that the file under the name is still the one that was copied, and so the one that will be removed or
    /// that the precondition is about.
    /// - Parameters:
    ///   - request: what is copied to where.
    ///   - status: of the source, as it was when it was copied.
    ///   - fingerprint: of a moved folder, as it was when the copy began.
    /// - Returns: for a move, what will be removed.
    /// - Throws: ``RootError/changedMeanwhile`` when the source was written to; ``RootError/preconditionFailed``; what the disk
    ///   reports.
    func requireUnchanged(
        _ request: CopyRequest, _ status: sys_attributes, _ fingerprint: TreeFingerprint? = nil
    ) throws(RootError) -> Departure? {
        guard request.isMove || precondition != nil else { return nil }
        let found = try look(at: request.source, waiting: true).status
        var departure: Departure?
        if request.isMove {
            guard FileStamp(found) == FileStamp(status) else { throw .changedMeanwhile }
            let from = try locateSource(request.source, followsLink: false)
            try checkLocks(WriteUse(trees: [from.path]))
            departure = try Departure(of: from, holding: fingerprint, in: root)
        }
        guard precondition != nil, !request.isDirectory else { return departure }
        let now = FileAttributes(found)
        guard now?.entityTag == FileAttributes(status)?.entityTag else { throw .preconditionFailed }
        return departure
    }

    /// Copies bytes and times of one file into an empty one.
    /// - Parameters:
    ///   - source: open for reading.
    ///   - status: of the source.
    ///   - target: open for reading and writing.
    ///   - isMove: whether the file's metadata is carried along too, except its dead properties.
    /// - Throws: ``RootError/noSpace``; what reading or writing met.
    func copyContent(
        of source: Int32, _ status: sys_attributes, to target: Int32, isMove: Bool
    ) throws(RootError) {
        try FileCopy.run(from: source, status, to: target, usesKernel: root.abilities.kernelCopies) {
            () throws(RootError) in
            try root.requireSpace(for: 0, at: target)
        }
        try FileCopy.requireWhole(target, of: source, status, isMove: isMove)
        if isMove { try FileMetadata.carry(from: source, status, to: target) }
        try check(sys_set_times(target, 0, -1, status.modified, Int64(status.modified_ns)), "futimens")
    }
}

/// What a copy is to do; paths are from the root.
struct CopyRequest {
    var source: SharePath
    var realSource: SharePath
    var target: SharePath
    var replacing: Replacement
    var isDirectory: Bool
    var takingAway: ((Departure, SharePath) throws(RootError) -> Void)?

    var isMove: Bool { takingAway != nil }

    /// Whether the copy must be on the disk before anything else happens: true for a move, since the source is removed
    /// from another disk, which may make that durable earlier.
    func isDurable(_ root: DirectoryRoot) -> Bool { isMove || root.policy.waitsForDisk }
}
