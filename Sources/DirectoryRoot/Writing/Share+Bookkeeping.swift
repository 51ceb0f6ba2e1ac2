import CSyscalls

/// What every write checks and updates in the tables of the state folder. All paths are from the root.
extension Share {
    /// Lets a write proceed, or names the locks that forbid it; checks ``precondition`` too.
    ///
    /// Called right before the names change, under the commit lock.
    func checkLocks(_ use: WriteUse) throws(RootError) {
        try checkPrecondition()
        try translated { () throws(RootError) in
            try root.checkLocks(use, tokens: tokens, user: user)
        }
    }

    /// - Throws: ``RootError/preconditionFailed`` when ``precondition`` does not hold.
    func checkPrecondition() throws(RootError) {
        guard let precondition else { return }
        guard try precondition() else { throw .preconditionFailed }
    }

    /// Records that what was at `path` is gone: its locks end, and properties stored elsewhere are removed too.
    /// - Parameters:
    ///   - path: where it was.
    ///   - status: of what was removed; nil when its members will be reported one by one.
    func didRemove(_ path: SharePath, _ status: sys_attributes?) {
        root.dropLocks(below: path)
        if let status { forgetProperties(of: status) }
    }

    /// Removes properties stored elsewhere for something that lost a name, unless it still has another name, even if
    /// only in the trash.
    ///
    /// The change has already happened: what can't be removed is distinguished from a later file by its birth time, and
    /// is no reason to report a failure. A client that appends and is told of a failure would append twice.
    func forgetProperties(of status: sys_attributes) {
        guard root.policy.trashDays == 0, status.isDirectory || status.links <= 1 else { return }
        try? root.state.properties.removed(inode: status.inode, device: status.device)
    }

    /// Records that a copy replaced what was at `path`: its locks end, except a file's lock if another file took its
    /// place.
    /// - Parameters:
    ///   - path: where it was.
    ///   - old: the status of what was replaced.
    ///   - isFile: whether a file is there now.
    func didReplace(_ path: SharePath, _ old: sys_attributes, byFile isFile: Bool) {
        if !Self.keepsLock(old, isFile: isFile) { root.dropLocks(below: path) }
    }

    /// Whether a lock on a file remains for the file in its place.
    ///
    /// Whoever may replace it has the lock's token, and continues under it: programs on davfs2 often write another file
    /// and rename it, and davfs2 gives up what it has still to send when the lock is gone. RFC 4918 §7.6 and §9.8.4.
    private static func keepsLock(_ old: sys_attributes, isFile: Bool) -> Bool { isFile && !old.isDirectory }

    /// Records that what was at `source` is at `target` now, and what was at `target` is gone: the locks of both end,
    /// properties follow.
    ///
    /// Only a replaced file's lock remains for the file in its place; see ``didReplace(_:_:byFile:)``.
    ///
    /// Properties are found by the file's identity; only on a disk without birth times must the stored path match too.
    /// If it can't be updated, or a link can't follow, that is no reason to report a move as failed that has happened.
    /// - Parameters:
    ///   - source: where it was.
    ///   - status: of what was moved; nil when unknown.
    ///   - target: where it is now.
    ///   - old: the status of what was there; nil for nothing.
    func didMove(
        _ source: SharePath, _ status: sys_attributes?, to target: SharePath, replacing old: sys_attributes?
    ) {
        root.dropLocks(below: source)
        if let old {
            didReplace(target, old, byFile: status?.isDirectory == false)
        } else {
            root.dropLocks(below: target)
        }
        try? root.state.properties.moved(from: source, status, to: target)
        if status?.isDirectory == true { root.state.links.follow(source, to: target) }
    }

    /// Gives a copy that has no name yet the dead properties and checksums of its source.
    func copyProperties(from source: Int32, at path: SharePath, to copy: Int32, at target: SharePath) throws(RootError)
    {
        try root.state.properties.carry(from: source, at: path, to: copy, at: target) { (set) throws(RootError) in
            try Self.keepChecksums(of: source, for: copy, in: &set)
        }
    }

    /// Gives a file's new content, which has no name yet, the dead properties of the old one.
    ///
    /// RFC 4918 §9.7.1: a PUT leaves them unchanged.
    func keepProperties(
        of old: borrowing Location, in new: Int32, _ hints: PropertyHints
    ) throws(RootError) {
        guard let status = old.status, let attributes = FileAttributes(status), hints.mayHaveProperties(attributes)
        else { return }
        let answer = unsafe old.withName { unsafe sys_openat(old.directory.number, $0, sys_o_path | O_NOFOLLOW, 0) }
        let opened = try Descriptor(answer, "openat")
        try root.state.properties.carry(from: opened.number, at: old.path, to: new, at: old.path)
    }

    /// Carries the attributes of other programs, and the access control list, from a file to what will replace it.
    /// - Parameters:
    ///   - old: the place of the file.
    ///   - new: what will replace it, still owned by us.
    /// - Returns: whether it now has the old file's access control list, or neither has one.
    /// - Throws: what the disk reports.
    func keepAttributes(of old: borrowing Location, in new: Int32) throws(RootError) -> Bool {
        let mayHave = old.mayHaveAttributes
        if mayHave, let opened = try old.open() {
            return try FileMetadata.carryAttributes(from: opened.number, to: new)
        }
        // A file that this process may not read, it may still be permitted to replace.
        try FileMetadata.takeOffAccessList(from: new)
        return !mayHave
    }

    /// Puts what is deleted or replaced into the trash, if there is one.
    ///
    /// A file keeps its name as well, so that a write can replace it in one step.
    /// - Parameters:
    ///   - location: the place of what is deleted or replaced.
    ///   - isReplaced: whether something takes its place.
    /// - Returns: what the trash has now; to be given back with ``Trash/giveBack(_:to:of:)`` if the write fails.
    /// - Throws: what the disk reports.
    func keepInTrash(_ location: borrowing Location, isReplaced: Bool = true) throws(RootError) -> Trash.Kept {
        guard root.policy.trashDays > 0, location.status != nil else { return .nothing }
        let linked = keepLinkInTrash(location)
        if !linked.isNothing { return linked }
        if isReplaced { return try root.state.trash.takeReplaced(location, user: user, of: root) }
        return try root.state.trash.take(location, user: user).map { .moved($0) } ?? .nothing
    }

    /// The same for a file that can have a second name; does nothing for anything else.
    func keepLinkInTrash(_ location: borrowing Location) -> Trash.Kept {
        guard root.policy.trashDays > 0, location.status?.isFile == true else { return .nothing }
        return root.state.trash.keep(location, user: user).map { .linked($0) } ?? .nothing
    }

    /// Makes a change of names durable; first what it put into the trash: otherwise that could be in neither place
    /// after a power cut.
    ///
    /// Called only after the whole change (a replaced folder is out of its place until then), under the commit lock.
    /// - Parameters:
    ///   - location: the place where names have changed.
    ///   - kept: what the trash has now.
    ///   - file: open file that just got the name; nil for none.
    ///   - atOnce: whether to wait here in any case, and not when the lock is released, as
    ///     ``CommitLock/waitForNames(at:having:)`` may: a folder's name must be on the disk before those of members
    ///     that others create in it.
    /// - Throws: what the disk reports.
    func syncDirectory(
        of location: borrowing Location, _ kept: Trash.Kept = .nothing, having file: Int32? = nil, atOnce: Bool = false
    ) throws(RootError) {
        if !kept.isNothing { try root.state.trash.settle() }
        let directory = location.directory.number
        if atOnce { return try WriteBack.waitForNames(at: directory, below: root.descriptor, having: file) }
        try root.commitLock.waitForNames(at: directory, having: file)
    }

    /// A closure to call for each thing that is removed with a tree; nil when nothing is stored about it elsewhere.
    func forgetting() throws(RootError) -> (@Sendable (sys_attributes) -> Void)? {
        try root.state.properties.forgetting()
    }
}
