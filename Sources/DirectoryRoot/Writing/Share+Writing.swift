import CSyscalls

extension Share {
    /// Creates one directory.
    ///
    /// - Parameters:
    ///   - path: its parent must exist.
    ///   - replacing: nothing is ever replaced; the closure of ``Replacement/when(_:)`` is called before the name is
    ///     checked.
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

    /// Starts writing new content for `path`; nothing changes under the name before ``PendingUpload/commit()``.
    ///
    /// Checks rights, locks, parent and precondition immediately, so that a hopeless body need not be read; all are
    /// checked again in the commit. A link to a file inside the root stays, and its target is replaced. A replaced
    /// file's owner and permission bits are kept if this process may set them, and its dead properties always.
    /// - Parameters:
    ///   - path: of a file, which may exist or not; its parent must exist.
    ///   - replacing: what may be at the path.
    ///   - size: the number of bytes that will come, if known: refused early when there is no space.
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
        // For a small upload, a lack of space is found when it is written.
        if size ?? 0 > Self.smallUpload || root.freeSpaceReserve > 0 {
            try root.requireSpace(for: size ?? 0, at: location.directory.number)
        }
        if size ?? .max > Self.smallUpload { try requireRoomToKeepOpen() }
        let file = try TemporaryFile(in: root, near: location.directory)
        let seen = location.status.flatMap { FileAttributes($0) }
        return PendingUpload(share: self, path: path, replacing: replacing, seen: seen, size: size, file: file)
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
        // Not under the lock: there may be much to write.
        guard let stamped else { return }
        if isDirectory { return try WriteBack.waitForNames(in: stamped.number) }
        try check(sys_fsync(stamped.number), "fsync")
    }

    /// How often a name is looked at anew that was free, and that another process took before it was ours.
    static let mostLooks = 8

    /// Gives a finished file its name: the one way in which every upload ends, except small ones that are written by
    /// ``writeAtOnce(_:_:replacing:modified:)``.
    ///
    /// - Parameters:
    ///   - file: the complete file.
    ///   - path: from the root, already known to be ``writable(_:orElse:)``.
    ///   - replacing: checked under the commit lock.
    ///   - modified: its modification time; nil for the current time.
    ///   - isDurable: whether to return only when everything is on the disk, including the name, whatever the policy
    ///     says: used when this becomes the only copy of what is removed from another disk.
    ///   - losesNothing: whether the file has all that the one it replaces has.
    /// - Returns: the new attributes, and whether the name is new.
    /// - Throws: as ``beginUpload(to:replacing:size:)``; ``RootError/changedMeanwhile`` after ``mostLooks`` lost races.
    func commit(
        _ file: TemporaryFile, to path: SharePath, replacing: Replacement, modified: Timestamp?,
        isDurable: Bool = false, losesNothing: Bool = false
    ) throws(RootError) -> (attributes: FileAttributes, created: Bool) {
        try ask(.upload(path))
        try file.setModified(modified)
        try file.order(durably: isDurable || root.policy.waitsForDisk)
        var replaces = false
        for _ in 0..<Self.mostLooks {
            do throws(RootError) {
                let result = try root.commitLock.withLock(creating: replaces) { (isAlone) throws(RootError) in
                    try place(
                        file, at: path, replacing: replacing, isAlone: isAlone || replaces, losesNothing: losesNothing)
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
                // Another process took the free name between the look and the link: look again.
                if case .nothing = replacing { throw .exists }
            }
        }
        throw .changedMeanwhile
    }

    /// Waits until the name that a file just got is on the disk; not under the commit lock, since another disk's
    /// journal may take long.
    private func waitForName(of file: TemporaryFile, at path: SharePath) throws(RootError) {
        let folder = folder(of: file, at: path)
        defer { withExtendedLifetime(folder) {} }
        try WriteBack.waitForAll(of: file.descriptor, in: folder?.number)
    }

    /// The folder in which a file has just got its name; nil when it has been moved since.
    private func folder(of file: TemporaryFile, at path: SharePath) -> SharedDescriptor? {
        do throws(RootError) {
            let location = try locateTarget(path, followsLink: true)
            guard let status = location.status, status.isSame(as: try file.status()) else { return nil }
            return try location.place().directory
        } catch {
            return nil
        }
    }

    /// Checks everything once more, and renames; under the commit lock.
    ///
    /// - Parameters:
    ///   - file: the complete file.
    ///   - path: from the root.
    ///   - replacing: what may be at the path.
    ///   - isAlone: whether other processes are excluded between the check and the rename, as far as possible. A new
    ///     name does not need that: it never replaces an existing one.
    ///   - losesNothing: whether the file has all that the one it replaces has.
    /// - Returns: nil for a file that would be replaced, which must not happen unless they are excluded.
    /// - Throws: as ``beginUpload(to:replacing:size:)``.
    func place(
        _ file: TemporaryFile, at path: SharePath, replacing: Replacement, isAlone: Bool, losesNothing: Bool = false
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
        } else if file.isAdopted {
            try file.takeRights(of: location.directory, in: root)
        }
        // Its content is on the disk already: after a power cut it must not be accessible to more users than it should
        // be.
        if root.policy.waitsForDisk, old != nil || file.isAdopted, try file.hasChanged(since: status) {
            try file.order(durably: true)
        }
        let kept = try replace(&location, by: file, losesNothing: losesNothing)
        root.recentCommits.note(attributes.entityTag, by: origin)
        if let old, mayHaveProperties { forgetProperties(of: old) }
        if root.policy.waitsForDisk {
            try syncDirectory(of: location, kept, having: file.descriptor)
            try WriteBack.waitForName(of: file.descriptor)
        }
        return (attributes, old == nil)
    }

    /// Gives a finished file its name.
    /// - Returns: what the trash now has of what was there.
    /// - Throws: what the disk reports.
    private func replace(
        _ location: inout Location, by file: TemporaryFile, losesNothing: Bool
    ) throws(RootError) -> Trash.Kept {
        if losesNothing || isEmptyFile(location, near: file) {
            try file.place(at: location, of: root)
            return .nothing
        }
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

    /// Whether an empty file is in the place of an upload: programs that create a file through a mount put an empty one
    /// there first, or lock the name, and nobody wants that from the trash.
    ///
    /// A file of a far file system may only seem to be empty: some give the size of what they have not fetched as 0.
    private func isEmptyFile(_ location: borrowing Location, near file: TemporaryFile) -> Bool {
        guard let old = location.status, old.isFile, old.size == 0, let attributes = FileAttributes(old) else {
            return false
        }
        return !root.isFar(file.descriptor, attributes)
    }
}
