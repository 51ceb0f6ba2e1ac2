import CSyscalls

extension Share {
    /// Creates one directory.
    ///
    /// - Parameters:
    ///   - path: whose parent must exist.
    ///   - replacing: nothing is ever replaced; the closure of ``Replacement/when(_:)`` is asked before the name is
    ///     looked at.
    /// - Throws: ``RootError/exists``, ``RootError/parentMissing``, ``RootError/preconditionFailed`` and what forbids
    ///   it.
    public func createDirectory(at path: SharePath, replacing: Replacement = .nothing) throws(RootError) {
        let path = try writable(path, orElse: .exists)
        try ask(.createDirectory(path))
        try root.commitLock.withLock(creating: false) { (_) throws(RootError) in
            let location = try locateTarget(path, followsLink: false)
            try requireMatch(replacing, location.status)
            guard location.status == nil else { throw .exists }
            try requireRights(.create, at: path, location.path)
            try checkLocks(WriteUse(bindings: [location.path]))
            try root.requireSpace(for: 0, at: location.directory.number)
            try unsafe check(location.withName { unsafe sys_mkdirat(location.directory.number, $0, 0o777) }, "mkdirat")
            if root.policy.waitsForDisk { try syncDirectory(of: location, atOnce: true) }
        }
        tell(.createDirectory(path))
    }

    /// Starts writing a new content for `path`; nothing shows under the name before ``PendingUpload/commit()``.
    ///
    /// Checks rights, locks, parent and precondition at once, so that a hopeless body need not be read; all are checked
    /// again in the commit. A link to a file inside the root stays, and the file that it points at is replaced. A
    /// replaced file's owner and permission bits are kept where they may be given, and its dead properties always.
    /// - Parameters:
    ///   - path: a file, there or not, whose parent exists.
    ///   - replacing: what may be there.
    ///   - size: the number of bytes that will come, where known: refused early when there is no room.
    /// - Returns: the upload.
    /// - Throws: ``RootError/isDirectory``, ``RootError/exists``, ``RootError/parentMissing``,
    ///   ``RootError/overLimit(_:)``, ``RootError/noSpace``, ``RootError/preconditionFailed`` and what forbids it.
    public func beginUpload(
        to path: SharePath, replacing: Replacement, size: Int64? = nil
    ) throws(RootError) -> PendingUpload {
        let path = try writable(path, orElse: .isDirectory)
        let location = try locateTarget(path, followsLink: true)
        try requireFileTarget(location, asked: path, replacing)
        try ask(.upload(path))
        if let size { try root.policy.requireSize(size) }
        // A small one finds out when it is written.
        if size ?? 0 > Self.smallUpload || root.freeSpaceReserve > 0 {
            try root.requireSpace(for: size ?? 0, at: location.directory.number)
        }
        if size ?? .max > Self.smallUpload { try requireRoomToKeepOpen() }
        let file = try TemporaryFile(in: root, near: location.directory)
        return PendingUpload(share: self, path: path, replacing: replacing, size: size, file: file)
    }

    private static let smallUpload: Int64 = 64 << 10

    /// Sets times of a file or directory as a client asked (`X-OC-Mtime`, Win32LastModifiedTime); nil leaves one alone.
    public func setTimes(of path: SharePath, modified: Timestamp?, accessed: Timestamp? = nil) throws(RootError) {
        let path = try writable(path, orElse: .selfReference)
        var stamped: IdentifiedDescriptor?
        var isDirectory = false
        try root.commitLock.withLock { () throws(RootError) in
            let location = try locateSource(path, followsLink: true)
            try requireRights(.overwrite, at: path, location.path)
            try checkLocks(WriteUse(changes: [location.path]))
            let answer = unsafe location.withName { name in
                unsafe sys_set_times_at(
                    location.directory.number, name, accessed?.seconds ?? 0, Int64(accessed?.nanoseconds ?? -1),
                    modified?.seconds ?? 0, Int64(modified?.nanoseconds ?? -1))
            }
            try check(answer, "utimensat")
            guard root.policy.waitsForDisk else { return }
            stamped = try location.open()
            isDirectory = location.status?.isDirectory == true
        }
        // Not while others wait: there may be much of it to be written.
        guard let stamped else { return }
        if isDirectory { return try WriteBack.waitForNames(in: stamped.number) }
        try check(sys_fsync(stamped.number), "fsync")
    }

    /// How often a name is looked at anew that was free, and that another process took before it was ours.
    static let mostLooks = 8

    /// Gives a finished file its name: the one way by which an upload of any door ends, but for the small ones that
    /// are written at once.
    ///
    /// - Parameters:
    ///   - file: with all its bytes.
    ///   - path: from the root, already known to be ``writable(_:orElse:)``.
    ///   - replacing: checked under the commit lock.
    ///   - modified: nil for now.
    ///   - isDurable: whether to return only when the disk has it all, the name too, whatever the policy says: where it
    ///     is the only copy of what goes from another disk then.
    /// - Returns: the new attributes, and whether the name is new.
    /// - Throws: as ``beginUpload(to:replacing:size:)``; ``RootError/changedMeanwhile`` after ``mostLooks`` lost races.
    func commit(
        _ file: TemporaryFile, to path: SharePath, replacing: Replacement, modified: Timestamp?, isDurable: Bool = false
    ) throws(RootError) -> (attributes: FileAttributes, created: Bool) {
        try ask(.upload(path))
        try file.setModified(modified)
        try file.order(durably: isDurable || root.policy.waitsForDisk)
        var replaces = false
        for _ in 0..<Self.mostLooks {
            do throws(RootError) {
                let result = try root.commitLock.withLock(creating: replaces) { (isAlone) throws(RootError) in
                    try place(file, at: path, replacing: replacing, isAlone: isAlone || replaces)
                }
                guard let result else {
                    replaces = true
                    continue
                }
                if isDurable, !root.policy.waitsForDisk { try waitForName(of: file, at: path) }
                noteArrival(result.attributes, at: path)
                tell(.upload(path))
                return result
            } catch .exists {
                // Another process took the free name between our look and our link: look again.
                if case .nothing = replacing { throw .exists }
            }
        }
        throw .changedMeanwhile
    }

    /// Waits until the disk has the name that a file just got: not under the commit lock, since another disk's journal
    /// may take its time.
    private func waitForName(of file: TemporaryFile, at path: SharePath) throws(RootError) {
        let folder = folder(of: file, at: path)
        defer { withExtendedLifetime(folder) {} }
        try WriteBack.waitForAll(of: file.descriptor, in: folder?.number)
    }

    /// The folder in which a file has just got its name; nil where that is another one by now.
    private func folder(of file: TemporaryFile, at path: SharePath) -> SharedDescriptor? {
        do throws(RootError) {
            let location = try locateTarget(path, followsLink: true)
            guard let status = location.status, status.isSame(as: try file.status()) else { return nil }
            return try location.place().directory
        } catch {
            return nil
        }
    }

    /// Looks once more, and renames; under the commit lock.
    ///
    /// - Parameters:
    ///   - file: with all its bytes.
    ///   - path: from the root.
    ///   - replacing: what may be there.
    ///   - isAlone: whether no other process can come between the look and the rename, as far as that can be had. A new
    ///     name needs nothing of the kind: it is never made where there is one.
    /// - Returns: nil for a file that would be replaced and must not be without that.
    /// - Throws: as ``beginUpload(to:replacing:size:)``.
    func place(
        _ file: TemporaryFile, at path: SharePath, replacing: Replacement, isAlone: Bool
    ) throws(RootError) -> (attributes: FileAttributes, created: Bool)? {
        var location = try locateTarget(path, followsLink: true)
        try requireFileTarget(location, asked: path, replacing)
        let old = location.status
        guard old == nil || isAlone else { return nil }
        let status = try file.status()
        guard let attributes = FileAttributes(status) else { throw .notFound }
        var mayHaveProperties = false
        if let old {
            let hints = try root.state.properties.hints()
            mayHaveProperties = hints.marker != nil
            try keepProperties(of: location, in: file.descriptor, hints)
            let hasAccessList = try keepAttributes(of: location, in: file.descriptor)
            try file.keepPermissions(of: old, where: status, hasAccessList: hasAccessList)
            // Its content is on the disk already: after a power cut it must not be open to others than the old one.
            if root.policy.waitsForDisk, try file.hasChanged(since: status) { try file.order(durably: true) }
        }
        let kept = try replace(&location, by: file)
        if let old, mayHaveProperties { forgetProperties(of: old) }
        if root.policy.waitsForDisk {
            try syncDirectory(of: location, kept, having: file.descriptor)
            try WriteBack.waitForName(of: file.descriptor)
        }
        return (attributes, old == nil)
    }

    /// Gives a finished file its name.
    /// - Returns: what the trash has now of what was there.
    /// - Throws: what the disk says.
    private func replace(
        _ location: inout Location, by file: TemporaryFile
    ) throws(RootError) -> Trash.Kept {
        if let kept = try replaceThroughTrash(file, at: location) { return kept }
        let kept = try keepInTrash(location)
        var isDone = false
        defer { if !isDone { root.state.trash.giveBack(kept, to: location, of: root) } }
        if kept.isMoved { try location.refresh() }
        try file.place(at: location, of: root)
        isDone = true
        kept.end()
        return kept
    }
}
