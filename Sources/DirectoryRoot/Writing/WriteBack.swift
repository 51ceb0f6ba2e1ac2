import CSyscalls

/// Writing a file's data back before its name changes: after a power cut, a name then leads to the whole old or the
/// whole new content.
enum WriteBack {
    /// Starts writing back.
    static func start(_ descriptor: Int32) {
        // Only a hint: errors are reported by the later wait.
        _ = sys_sync_range(descriptor, 0, 0, sys_sync_write)
    }

    /// Waits until the data is ordered on the disk before any later change of names.
    /// - Parameters:
    ///   - descriptor: of the file; it stays open.
    ///   - durably: whether to wait for the disk itself, including its journal and cache.
    ///   - flushes: whether to flush as `close` does. Network and FUSE file systems may report only then that they
    ///     could not keep what was written, or that there was no space.
    /// - Throws: what writing back met, such as ``RootError/noSpace`` on file systems that allocate space only now.
    static func wait(for descriptor: Int32, durably: Bool, flushes: Bool = true) throws(RootError) {
        if flushes { try check(sys_flush(descriptor), "close") }
        if durably {
            try check(sys_fsync(descriptor), "fsync")
        } else {
            try wait(for: descriptor, upTo: 0)
        }
    }

    /// The same for the beginning of a file, without the journal and the disk's cache.
    /// - Parameters:
    ///   - descriptor: of the file.
    ///   - end: the number of bytes; 0 for all.
    /// - Throws: what writing back met.
    static func wait(for descriptor: Int32, upTo end: Int64) throws(RootError) {
        guard sys_ordering(descriptor) == sys_ordered_by_range else {
            try check(sys_fdatasync(descriptor), "fsync")
            return
        }
        let answer = sys_sync_range(descriptor, 0, end, sys_sync_wait)
        // Without that call, only the stronger one gives the guarantee.
        if answer == -ENOSYS || answer == -EINVAL {
            try check(sys_fdatasync(descriptor), "fsync")
        } else if answer != -ESPIPE {
            try check(answer, "sync_file_range")
        }
    }

    /// Waits until the names in a directory are on the disk, as far as its file system can sync directories.
    /// - Parameter directory: open for reading.
    /// - Throws: what the disk reports.
    static func waitForNames(in directory: Int32) throws(RootError) {
        let answer = sys_fsync(directory)
        // Some network and FUSE file systems can't sync directories.
        if answer != -EINVAL, answer != -ENOSYS, answer != -EOPNOTSUPP { try check(answer, "fsync a directory") }
    }

    /// The same for a directory that is open for `*at` calls only; see ``NameSync``.
    /// - Parameters:
    ///   - directory: the directory whose names have changed.
    ///   - root: the share's root, at or above it.
    ///   - file: an open file that just got one of them, not opened with `O_PATH`; nil for none.
    /// - Throws: what the disk reports.
    static func waitForNames(at directory: Int32, below root: Int32, having file: Int32? = nil) throws(RootError) {
        try NameSync(of: directory, below: root, having: file)?.wait()
    }

    /// Waits until a file and the name that it just got are on the disk, whatever its file system is.
    /// - Parameters:
    ///   - file: open, but not with `O_PATH`.
    ///   - directory: the directory that has the name, open at least for `*at` calls; nil when unknown.
    /// - Throws: what the disk reports.
    static func waitForAll(of file: Int32, in directory: Int32?) throws(RootError) {
        if let names = directory.flatMap({ try? NameSync(of: $0, having: file) }) {
            try names.wait()
        } else {
            try check(sys_sync_all(file), "syncfs")
        }
        try check(sys_fsync(file), "fsync")
    }

    /// Waits until the name that a file just got is on the disk, where syncing its directory is not enough.
    ///
    /// A FUSE file system may pass on the sync of a file, but not that of a directory; a journal that has the file has
    /// its name too.
    /// - Parameter file: the file that was renamed or linked.
    /// - Throws: what the disk reports.
    static func waitForName(of file: Int32) throws(RootError) {
        if mayLackNames(at: file) { try check(sys_fsync(file), "fsync") }
    }

    /// Whether a name may be missing on the disk although ``waitForNames(in:)`` has waited for it.
    static func mayLackNames(at descriptor: Int32) -> Bool { sys_keeps_names(descriptor) == 0 }
}
