import CSyscalls

extension Share {
    /// Opens a regular file or a directory.
    /// - Parameters:
    ///   - path: from ``base``.
    ///   - waiting: false on an event loop: throws ``RootError/wouldBlock`` instead of waiting for the disk.
    /// - Returns: what is there, open.
    /// - Throws: ``RootError/notFound``, ``RootError/forbidden``, ``RootError/wouldBlock``.
    public func open(_ path: SharePath, waiting: Bool = true) throws(RootError) -> Entry {
        if waiting, SlowClose.isCrowded { try makeRoom(for: path) }
        // O_NONBLOCK: opening a FIFO must not wait for its writer. It changes nothing for regular files.
        let opened = try openVisible(absolute(path), flags: O_RDONLY | O_NONBLOCK | O_NOCTTY, waiting: waiting)
        // What was opened without waiting is not on a far file system.
        let isFar = waiting && root.isFar(opened.descriptor.number, opened.attributes)
        return Entry(
            descriptor: opened.descriptor.release(), attributes: opened.attributes, realPath: opened.realPath,
            isInMemory: opened.attributes.device == root.memoryDevice, isFar: isFar)
    }

    /// Waits if too many descriptors of a far file system are waiting to be closed.
    private func makeRoom(for path: SharePath) throws(RootError) {
        // Looking at it takes no descriptor that would be slow to close.
        let seen = try openVisible(absolute(path), flags: sys_o_path, waiting: true)
        guard root.isFar(seen.descriptor.number, seen.attributes) else { return }
        try SlowClose.makeRoom(on: seen.attributes.device)
    }

    /// The same for a response, which keeps a large file open for as long as the client takes to receive it.
    /// - Parameters:
    ///   - path: from ``base``.
    ///   - waiting: as ``open(_:waiting:)``.
    /// - Returns: what is there, open.
    /// - Throws: as ``open(_:waiting:)``; for a large file also as ``requireRoomToKeepOpen()``.
    package func openToSend(_ path: SharePath, waiting: Bool = true) throws(RootError) -> Entry {
        let entry = try open(path, waiting: waiting)
        if !entry.attributes.isDirectory, entry.attributes.size > Self.soonSent { try requireRoomToKeepOpen() }
        return entry
    }

    /// Bytes that a connection accepts at once, so that the file is soon closed.
    private static let soonSent: Int64 = 64 << 10

    /// Checks that a file or folder may be kept open for as long as a slow client takes.
    /// - Throws: ``RootError/tooMany`` when only a quarter of the descriptors is left, which is reserved for short
    ///   work.
    package func requireRoomToKeepOpen() throws(RootError) {
        guard sys_may_keep_open() else { throw .tooMany }
    }

    /// What is at `path`, following links that stay inside the root.
    ///
    /// A file that the process may not read is shown too.
    public func attributes(of path: SharePath) throws(RootError) -> FileAttributes {
        try openVisible(absolute(path), flags: sys_o_path, waiting: true).attributes
    }

    /// The same; nil when nothing is there.
    package func existing(_ path: SharePath) throws(RootError) -> FileAttributes? {
        do {
            return try attributes(of: path)
        } catch {
            switch error {
            case .notFound, .notDirectory, .parentMissing: return nil
            default: throw error
            }
        }
    }

    /// The attributes of what is at `path`, and its real path from the root, with links resolved.
    /// - Parameter path: from ``base``.
    /// - Returns: both.
    /// - Throws: as ``attributes(of:)``.
    package func place(of path: SharePath) throws(RootError) -> (attributes: FileAttributes, realPath: SharePath) {
        let seen = try openVisible(absolute(path), flags: sys_o_path, waiting: true)
        return (seen.attributes, seen.realPath)
    }

    /// The attributes of what is at `path`, if that needs no waiting and no link is on the way.
    /// - Throws: ``RootError/notFound`` when nothing is there; otherwise ``RootError/wouldBlock`` or another error.
    package func attributesAtOnce(of path: SharePath) throws(RootError) -> FileAttributes {
        let full = try absolute(path)
        guard !root.resolver.looksHomeNext else { throw .wouldBlock }
        return try openVisible(full, flags: sys_o_path, waiting: false).attributes
    }

    /// The attributes of what is at `path`, if that needs no waiting and nothing that is asked for is kept about it.
    /// - Parameters:
    ///   - path: from ``base``.
    ///   - asksForLocks: whether a lock would count.
    ///   - asksForProperties: whether stored properties and checksums would count.
    /// - Returns: the attributes.
    /// - Throws: ``RootError/notFound`` when nothing is there; otherwise ``RootError/wouldBlock`` or another error.
    package func plainAttributes(
        of path: SharePath, asksForLocks: Bool, asksForProperties: Bool
    ) throws(RootError) -> FileAttributes {
        let attributes = try attributesAtOnce(of: path)
        // No link was followed: this path is the real one.
        if asksForLocks, try !root.state.locks.spareAtOnce(absolute(path), isInMemory: root.isInMemory) {
            throw .wouldBlock
        }
        if asksForProperties,
            try root.state.properties.hintsAtOnce(isInMemory: root.isInMemory).mayHaveProperties(attributes)
        {
            throw .wouldBlock
        }
        return attributes
    }

    /// The members of a directory, in the disk's order, read one after the other: constant memory for any number.
    ///
    /// Names that the requester may not see are left out.
    /// - Throws: ``RootError/notDirectory`` for a file.
    public func list(_ path: SharePath) throws(RootError) -> DirectoryCursor {
        let path = try absolute(path)
        let opened = try openVisible(path, flags: O_RDONLY | O_NONBLOCK | O_NOCTTY, waiting: true)
        guard opened.attributes.isDirectory else { throw .notDirectory }
        return try DirectoryCursor(
            share: self, directory: opened.descriptor, attributes: opened.attributes, path: path,
            realPath: opened.realPath)
    }

    /// Used and free bytes on the file system that holds `path`.
    ///
    /// RFC 4331.
    /// - Returns: nil when the file system does not report them.
    public func space(at path: SharePath) throws(RootError) -> DiskSpace? {
        let opened = try openVisible(absolute(path), flags: sys_o_path, waiting: true)
        var space = sys_space()
        try unsafe check(sys_space(opened.descriptor.number, &space), "fstatvfs")
        guard space.is_known != 0 else { return nil }
        let reserve = UInt64(max(0, root.policy.minFreeSpace))
        return DiskSpace(
            available: Int64(clamping: space.available > reserve ? space.available - reserve : 0),
            used: Int64(clamping: space.used))
    }
}
