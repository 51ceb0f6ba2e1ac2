import CSyscalls

/// What every write asks and tells the tables of the state folder. All paths are from the root.
extension Share {
    /// Lets a write go on, or names the locks that forbid it; asks ``precondition`` too.
    ///
    /// Asked right before the names change, under the commit lock.
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

    /// The thing at `path` is gone: its locks end, and properties kept elsewhere go too.
    /// - Parameters:
    ///   - path: where it was.
    ///   - status: what it was; nil when its members will be forgotten one by one.
    func didRemove(_ path: SharePath, _ status: sys_attributes?) {
        root.dropLocks(below: path)
        if let status { forgetProperties(of: status) }
    }

    /// Forgets what is kept elsewhere of something that lost a name, unless it has another one left: one in the trash,
    /// too.
    ///
    /// The change is made: what stays behind is told apart from a later file by its birth time, and is no reason to
    /// answer that it failed. Who appends and is told so appends twice.
    func forgetProperties(of status: sys_attributes) {
        guard root.policy.trashDays == 0, status.isDirectory || status.links <= 1 else { return }
        try? root.state.properties.removed(inode: status.inode, device: status.device)
    }

    /// A copy replaced what was at `path`: what that was is over, but for a file's lock if another file took its place.
    /// - Parameters:
    ///   - path: where it was.
    ///   - old: what it was.
    ///   - isFile: whether a file is there now.
    func didReplace(_ path: SharePath, _ old: sys_attributes, byFile isFile: Bool) {
        if !Self.keepsLock(old, isFile: isFile) { root.dropLocks(below: path) }
    }

    /// Whether a lock on a file goes on for the file in its place.
    ///
    /// Whoever may replace it has the lock's token, and goes on under it: davfs2, of whose programs many write beside
    /// and rename, gives up what it has still to send when the lock is gone. RFC 4918 §7.6 and §9.8.4.
    private static func keepsLock(_ old: sys_attributes, isFile: Bool) -> Bool { isFile && !old.isDirectory }

    /// What was at `source` is at `target` now, and what was at `target` is gone: locks of both end, properties follow.
    ///
    /// Only a replaced file's lock goes on for the file in its place; see ``didReplace(_:_:byFile:)``.
    ///
    /// Properties are found by what they are of; only on a disk that keeps no birth times must the path beside them
    /// fit, too. That it can't be written, or a link can't follow, is no reason to call a move failed that is made.
    /// - Parameters:
    ///   - source: where it was.
    ///   - status: what it is; nil when that is not known.
    ///   - target: where it is.
    ///   - old: what was there; nil for nothing.
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

    /// Gives a copy that has no name yet the dead properties of what it is a copy of, and its check sums.
    func copyProperties(from source: Int32, at path: SharePath, to copy: Int32, at target: SharePath) throws(RootError)
    {
        try root.state.properties.carry(from: source, at: path, to: copy, at: target) { (set) throws(RootError) in
            try Self.keepChecksums(of: source, for: copy, in: &set)
        }
    }

    /// Gives a file's new content, which has no name yet, the dead properties of the old one.
    ///
    /// RFC 4918 §9.7.1 leaves them alone.
    func keepProperties(
        of old: borrowing Location, in new: Int32, _ hints: PropertyHints
    ) throws(RootError) {
        guard let status = old.status, let attributes = FileAttributes(status), hints.mayHaveProperties(attributes)
        else { return }
        let answer = unsafe old.withName { unsafe sys_openat(old.directory.number, $0, sys_o_path | O_NOFOLLOW, 0) }
        let opened = try Descriptor(answer, "openat")
        try root.state.properties.carry(from: opened.number, at: old.path, to: new, at: old.path)
    }

    /// Carries what other programs keep with a file, and its access lists, to what will replace it.
    /// - Parameters:
    ///   - old: where the file is.
    ///   - new: what will replace it, still ours.
    /// - Returns: whether its access list is the old one's now, or neither has one.
    /// - Throws: what the disk says.
    func keepAttributes(of old: borrowing Location, in new: Int32) throws(RootError) -> Bool {
        let mayHave = old.mayHaveAttributes
        if mayHave, let opened = try old.open() {
            return try FileMetadata.carryAttributes(from: opened.number, to: new)
        }
        // What we may not read we may replace all the same.
        try FileMetadata.takeOffAccessList(from: new)
        return !mayHave
    }

    /// Puts what is deleted or replaced into the trash where there is one.
    ///
    /// A file keeps its name meanwhile, so that a write can replace it in one step.
    /// - Parameters:
    ///   - location: what will be gone.
    ///   - isReplaced: whether something comes in its place.
    /// - Returns: what the trash has now; given back with ``Trash/giveBack(_:to:of:)`` when nothing comes of the write.
    /// - Throws: what the disk says.
    func keepInTrash(_ location: borrowing Location, isReplaced: Bool = true) throws(RootError) -> Trash.Kept {
        guard root.policy.trashDays > 0, location.status != nil else { return .nothing }
        let linked = keepLinkInTrash(location)
        if !linked.isNothing { return linked }
        if isReplaced { return try root.state.trash.takeReplaced(location, user: user, of: root) }
        return try root.state.trash.take(location, user: user).map { .moved($0) } ?? .nothing
    }

    /// The same for a file that can have a second name; of anything else nothing.
    func keepLinkInTrash(_ location: borrowing Location) -> Trash.Kept {
        guard root.policy.trashDays > 0, location.status?.isFile == true else { return .nothing }
        return root.state.trash.keep(location, user: user).map { .linked($0) } ?? .nothing
    }

    /// Makes a change of names durable; what it put into the trash first, or after a power cut that could be in neither
    /// place.
    ///
    /// Only after the whole change: a replaced folder is out of its place until then. Under the commit lock.
    /// - Parameters:
    ///   - location: where names have changed.
    ///   - kept: what the trash has now.
    ///   - file: that just got the name, open; nil for none.
    ///   - atOnce: whether it is waited for here in any case, and not when the lock is given back, as
    ///     ``CommitLock/waitForNames(at:having:)`` may: a folder's name is to be on the disk before that of anything
    ///     that others put into it.
    /// - Throws: what the disk says.
    func syncDirectory(
        of location: borrowing Location, _ kept: Trash.Kept = .nothing, having file: Int32? = nil, atOnce: Bool = false
    ) throws(RootError) {
        if !kept.isNothing { try root.state.trash.settle() }
        let directory = location.directory.number
        if atOnce { return try WriteBack.waitForNames(at: directory, below: root.descriptor, having: file) }
        try root.commitLock.waitForNames(at: directory, having: file)
    }

    /// Called for each thing that is removed with a tree; nil when nobody keeps anything about it.
    func forgetting() throws(RootError) -> (@Sendable (sys_attributes) -> Void)? {
        try root.state.properties.forgetting()
    }
}
