import CSyscalls

/// Getting what was written to a file out of memory before its name changes: after a power cut a name then leads to the
/// whole old or the whole new content.
enum WriteBack {
    /// Sets the writing in motion.
    static func start(_ descriptor: Int32) {
        // Only a hint: what goes wrong is seen when we wait for it.
        _ = sys_sync_range(descriptor, 0, 0, sys_sync_write)
    }

    /// Waits until the data is on its way to the disk before any later change of names.
    /// - Parameters:
    ///   - descriptor: of the file; it stays open.
    ///   - durably: wait for the disk itself, its journal and cache too.
    ///   - flushes: ask as `close` does. File systems over a network or in a program of their own may say only then
    ///     that they could not keep what was written, or that there was no room.
    /// - Throws: what writing back met, such as ``RootError/noSpace`` on file systems that only now look for room.
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
    ///   - end: so many bytes; 0 for all.
    /// - Throws: what writing back met.
    static func wait(for descriptor: Int32, upTo end: Int64) throws(RootError) {
        guard sys_ordering(descriptor) == sys_ordered_by_range else {
            try check(sys_fdatasync(descriptor), "fsync")
            return
        }
        let answer = sys_sync_range(descriptor, 0, end, sys_sync_wait)
        // Where there is no such call, only the strong one gives the promise.
        if answer == -ENOSYS || answer == -EINVAL {
            try check(sys_fdatasync(descriptor), "fsync")
        } else if answer != -ESPIPE {
            try check(answer, "sync_file_range")
        }
    }

    /// Waits until the disk has the names in a directory, as far as its file system can be asked to.
    /// - Parameter directory: open for reading.
    /// - Throws: what the disk says.
    static func waitForNames(in directory: Int32) throws(RootError) {
        let answer = sys_fsync(directory)
        // Some network and FUSE file systems have nothing to say about directories.
        if answer != -EINVAL, answer != -ENOSYS, answer != -EOPNOTSUPP { try check(answer, "fsync a directory") }
    }

    /// The same for a directory that is open for `*at` calls only; see ``NameSync``.
    /// - Parameters:
    ///   - directory: whose names have changed.
    ///   - root: the share's, at or above it.
    ///   - file: that just got one of them, open in any way that is no path only; nil for none.
    /// - Throws: what the disk says.
    static func waitForNames(at directory: Int32, below root: Int32, having file: Int32? = nil) throws(RootError) {
        try NameSync(of: directory, below: root, having: file)?.wait()
    }

    /// Waits until the disk has a file and the name that it just got, whatever its file system is.
    /// - Parameters:
    ///   - file: open in any way that is no path only.
    ///   - directory: that has the name, open for `*at` calls at least; nil where that is not known any more.
    /// - Throws: what the disk says.
    static func waitForAll(of file: Int32, in directory: Int32?) throws(RootError) {
        if let names = directory.flatMap({ try? NameSync(of: $0, having: file) }) {
            try names.wait()
        } else {
            try check(sys_sync_all(file), "syncfs")
        }
        try check(sys_fsync(file), "fsync")
    }

    /// Waits until the disk has the name that a file just got, where asking its directory does not do.
    ///
    /// A file system in a program of its own (FUSE) may pass on what it is asked of a file, and nothing of a directory;
    /// and the journal that has the one has the other.
    /// - Parameter file: that was renamed, or linked.
    /// - Throws: what the disk says.
    static func waitForName(of file: Int32) throws(RootError) {
        if mayLackNames(at: file) { try check(sys_fsync(file), "fsync") }
    }

    /// Whether a name may not be on the disk though ``waitForNames(in:)`` has waited for it.
    static func mayLackNames(at descriptor: Int32) -> Bool { sys_keeps_names(descriptor) == 0 }
}
