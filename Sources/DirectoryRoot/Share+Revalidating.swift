import CSyscalls

extension Share {
    /// Whether `path` still leads to what `entry` is, unchanged, so that a cache of open entries may answer from it.
    ///
    /// One `statx`, which does not wait for a local disk: the open entry pins every directory on the way in memory. It
    /// asks by the whole path, and so the kernel follows a link that somebody put in the place of a directory. That shows
    /// nothing to anyone: the answer is only compared, by device, inode, size, modification and change time, with what was
    /// opened beneath the root before, and these say that the content is the one that was inside then. What can be missed
    /// is a directory that moved out of the root while a link to its new place took its name; so an entry is believed for
    /// a second at most, and then has to be opened again.
    /// - Parameters:
    ///   - entry: from ``open(_:waiting:)`` of the same path without waiting; one that was opened on the pool, or through
    ///     a link, is never believed, since its file system may be slow to answer.
    ///   - path: as it was opened.
    /// - Returns: false to open again.
    package func validate(_ entry: Entry, at path: SharePath) -> Bool {
        guard entry.openedAt != 0, sys_coarse_milliseconds() - entry.openedAt < 1_000 else { return false }
        guard let path = try? absolute(path), entry.realPath == path, root.policy.shows(path),
            maySee(path, isDirectory: entry.attributes.isDirectory)
        else { return false }
        var status = sys_attributes()
        guard path.withCPath({ sys_statat(root.descriptor, $0, &status) }) == 0 else { return false }
        let known = entry.attributes
        return status.inode == known.inode && status.device == known.device
            && status.size == UInt64(bitPattern: known.size)
            && status.modified == known.modified.seconds && status.modified_ns == UInt32(known.modified.nanoseconds)
            && status.changed == known.changed.seconds && status.changed_ns == UInt32(known.changed.nanoseconds)
    }
}
