import CSyscalls

extension Share {
    /// Moves a file or tree: one rename, or copy and delete across file systems.
    ///
    /// The source's locks end; its dead properties follow. A replaced folder is replaced whole. For a link, the link
    /// itself is moved, if it leads to the same from its new place.
    /// - Parameters:
    ///   - source: must exist.
    ///   - target: its parent must exist.
    ///   - replacing: what may be at the target.
    /// - Returns: whether the target is new, and the members that could not be moved (then nothing was).
    /// - Throws: ``RootError/notFound``, ``RootError/parentMissing``, ``RootError/exists``,
    ///   ``RootError/selfReference``, ``RootError/leadsElsewhere``, …
    public func move(
        _ source: SharePath, to target: SharePath, replacing: Replacement
    ) throws(RootError) -> TransferResult {
        guard !source.isRoot, !target.isRoot else { throw root.policy.isReadOnly ? .readOnly : .selfReference }
        let source = try writable(source, orElse: .selfReference)
        let target = try writable(target, orElse: .selfReference)
        guard !root.policy.refusesDelete else { throw .forbidden }
        try ask(.move(from: source, to: target))
        let outcome = try root.commitLock.withLock { () throws(RootError) -> MoveOutcome in
            let from = try locateSource(source, followsLink: false)
            try requireRights(throughout: .delete, at: source, from.path)
            let to = try locateTarget(target, followsLink: false)
            try requireMovable(from, to, asked: target, replacing)
            let changed = to.status == nil ? WriteUse(bindings: [to.path]) : WriteUse(trees: [to.path])
            try checkLocks(
                WriteUse(
                    changes: lead(of: from) + lead(of: to), bindings: changed.bindings,
                    trees: changed.trees + [from.path]))
            return try rename(from, to)
        }
        switch outcome {
        case .done(let created, let replaced):
            if let replaced { discard(replaced) }
            tell(.move(from: source, to: target))
            return TransferResult(created: created, failures: [])
        case .otherFileSystem:
            let result = try moveByCopying(source, to: target, replacing: replacing)
            if result.failures.isEmpty { tell(.move(from: source, to: target)) }
            return result
        }
    }

    private enum MoveOutcome {
        /// - Parameter replaced: what was at the target, still to be removed.
        case done(created: Bool, replaced: ScratchPlace?)
        case otherFileSystem
    }

    /// Checks everything that decides whether the source may take the target's place.
    private func requireMovable(
        _ from: borrowing Location, _ to: borrowing Location, asked target: SharePath, _ replacing: Replacement
    ) throws(RootError) {
        guard let moved = from.status else { throw .notFound }
        try requireSeparate(from, to)
        if moved.isLink { try requireSameLead(from, to) }
        try requireMatch(replacing, try contentStatus(of: to))
        if moved.isDirectory { try requireRights(throughout: .create, at: target, to.path) }
        if let old = to.status {
            if old.isDirectory {
                try requireRights(throughout: [.overwrite, .delete], at: target, to.path)
            }
            try requireReplaceable(to, asked: target)
        } else {
            try requireNewName(target, to.path, isDirectory: moved.isDirectory)
        }
    }

    /// Refuses a target that is the source, lies in it or holds it: by name, and by what the directories really are.
    func requireSeparate(_ from: borrowing Location, _ to: borrowing Location) throws(RootError) {
        guard !from.path.contains(to.path), !to.path.isAncestor(of: from.path) else { throw .selfReference }
        guard let moved = from.status else { return }
        if moved.isLink, let old = to.status, let found = try? look(at: from.path, waiting: true).status {
            // Otherwise only a link to itself would be left of what it points at.
            guard !found.isSame(as: old) else { throw .selfReference }
        }
        guard moved.isDirectory else { return }
        // On a file system that ignores case, a folder may change the spelling of its own name.
        if let old = to.status, old.isSame(as: moved) {
            guard try from.directory.status().isSame(as: to.directory.status()) else { throw .selfReference }
        }
        // One directory mounted at two places, or a file system that ignores case.
        guard try !root.isBelow(moved, to.directory) else { throw .selfReference }
    }

    private func rename(_ from: borrowing Location, _ to: borrowing Location) throws(RootError) -> MoveOutcome {
        let origin = from.directory.number
        guard let old = to.status, let moved = from.status else {
            let answer = unsafe from.withName { unsafe root.renameToFreeName(origin, $0, to) }
            if answer == -EXDEV { return .otherFileSystem }
            try check(answer, "renameat2")
            try finish(from, to)
            return .done(created: true, replaced: nil)
        }
        if try root.isOneFile(from, to) {
            try root.renameToItself(from, to)
            try finish(from, to)
            return .done(created: false, replaced: nil)
        }
        var kept = keepLinkInTrash(to)
        if kept.isNothing {
            if let exchanged = try exchangeAndKeep(from, with: to) {
                try finish(from, to, exchanged)
                return .done(created: false, replaced: nil)
            }
            kept = try keepInTrash(to)
        }
        var isDone = false
        defer { if !isDone { root.state.trash.giveBack(kept, to: to, of: root) } }
        if kept.isMoved || !old.isDirectory && !moved.isDirectory {
            let answer = unsafe from.withName { name in
                unsafe kept.isMoved
                    ? root.renameToFreeName(origin, name, to)
                    : to.withName { unsafe sys_renameat(origin, name, to.directory.number, $0) }
            }
            if answer == -EXDEV { return .otherFileSystem }
            try check(answer, "renameat")
            isDone = true
            kept.end()
            if !kept.isMoved, !old.isDirectory { forgetProperties(of: old) }
            try finish(from, to, kept)
            return .done(created: false, replaced: nil)
        }
        let outcome = try swapAndDetach(from, to)
        guard case .done = outcome else { return outcome }
        // Before anything may fail: what was replaced has no other name than that in the trash now.
        isDone = true
        try finish(from, to, kept)
        return outcome
    }

    /// Puts a tree in the place of something else, which is left to be removed.
    private func swapAndDetach(_ from: borrowing Location, _ to: borrowing Location) throws(RootError) -> MoveOutcome {
        // Exchanging the two names in one step loses nothing at any moment; what was replaced then stands under the
        // source's name until the next call hides it. After a kill in between, this is repaired before the next write.
        let source = try from.place()
        // Everything that may fail for lack of descriptors comes first: after the swap, a client that is told to try
        // again would move the wrong thing.
        let hidden = try root.hiding(source)
        let journal = MoveNote(from: from, to: to).flatMap { RenameJournal($0, in: root) }
        let answer = root.swap(source, with: to)
        guard answer == 0 else {
            journal?.end()
            if answer == -EXDEV { return .otherFileSystem }
            throw RootError(answer, "renameat2")
        }
        var failure: Int32 = 0
        let replaced = hidden.first { place in
            failure = root.rename(source, to: place)
            return failure == 0
        }
        guard let replaced else {
            // What can't be moved away stays, and so does everything else. If even swapping back fails, the note tells
            // the next write.
            if root.swap(source, with: to) == 0 { journal?.end() }
            throw RootError(failure, "renameat")
        }
        journal?.end()
        return .done(created: false, replaced: replaced)
    }

    private func finish(
        _ from: borrowing Location, _ to: borrowing Location, _ kept: Trash.Kept = .nothing
    ) throws(RootError) {
        didMove(from.path, from.status, to: to.path, replacing: to.status)
        let moved = from.status
        if moved?.isDirectory == true { root.farMounts.didRenameFolder() }
        let arrived = moved.flatMap { FileAttributes($0) }
        if let arrived { root.recentCommits.note(arrived.entityTag, by: origin) }
        noteArrival(arrived, at: to.path)
        guard root.policy.waitsForDisk else { return }
        let isFolder = from.status?.isDirectory == true
        try syncDirectory(of: to, kept, atOnce: isFolder)
        try syncDirectory(of: from, atOnce: isFolder)
    }

    /// Moves across file systems: the source is removed only once its copy has its name.
    ///
    /// If somebody wrote to the source meanwhile, it is copied again; if the writes continue, the client is told to try
    /// the move again.
    private func moveByCopying(
        _ source: SharePath, to target: SharePath, replacing: Replacement
    ) throws(RootError) -> TransferResult {
        for _ in 1..<Self.mostCopies {
            do throws(RootError) {
                return try copyAndTakeAway(source, to: target, replacing: replacing)
            } catch .changedMeanwhile {
                continue
            }
        }
        return try copyAndTakeAway(source, to: target, replacing: replacing)
    }

    private static let mostCopies = 3

    /// - Throws: ``RootError/changedMeanwhile`` only when everything is as before, so that it can be tried again.
    private func copyAndTakeAway(
        _ source: SharePath, to target: SharePath, replacing: Replacement
    ) throws(RootError) -> TransferResult {
        var left: DoomedTree?
        var result: TransferResult
        do throws(RootError) {
            result = try transfer(source, to: target, recursive: true, replacing: replacing) {
                (departure, arrival) throws(RootError) in
                left = try departure.go(root)
                // The copy has its name, and the source has none: what is stored about the source is removed.
                if left?.isInPlace != true { didRemove(departure.path, nil) }
                if departure.isDirectory { root.state.links.follow(departure.path, to: arrival) }
                if root.policy.waitsForDisk { try departure.syncDirectory(in: root) }
            }
        } catch {
            // The error is reported; what can't be removed comes back under its name.
            if let left { _ = try? takeApart(left) }
            throw error
        }
        // The copy is complete, and what can't be removed of the source comes back under its name.
        if let left { result.failures += try takeApart(left) }
        return result
    }
}
