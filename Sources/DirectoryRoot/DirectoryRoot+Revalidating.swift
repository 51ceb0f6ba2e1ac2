import CSyscalls

extension DirectoryRoot {
    /// Whether `path` still leads to `entry`, unchanged, so that a cache of open entries may answer from it.
    ///
    /// Compares what is there now by device, inode, size, modification and change time; does not wait for a local disk,
    /// since the open entry pins every directory on the way in memory. A name right in the root costs one `statx`. A
    /// longer path is looked up under the rules of ``Resolver``, since somebody may have put a link in the place of a
    /// directory that was moved out of the root.
    /// - Parameters:
    ///   - entry: opened at this path, without waiting for the disk and not through a link.
    ///   - path: from the root, ended by NUL.
    ///   - isNested: whether `path` has more than one component.
    /// - Returns: false when it has to be opened again.
    package func holds(_ entry: Entry, at path: UnsafePointer<CChar>, isNested: Bool) -> Bool {
        var now = sys_attributes()
        if isNested {
            let found = unsafe sys_openat2(
                descriptor, path, sys_o_path, 0,
                sys_resolve_beneath | sys_resolve_no_symlinks | sys_resolve_no_magiclinks | sys_resolve_cached)
            guard found >= 0 else { return false }
            let answer = unsafe sys_fstat_now(found, &now)
            _ = sys_close(found)
            guard answer == 0 else { return false }
        } else {
            guard unsafe sys_statat_now(descriptor, path, &now) == 0 else { return false }
        }
        let then = entry.attributes
        return now.inode == then.inode && now.device == then.device && now.size == UInt64(clamping: then.size)
            && now.modificationTime == then.modified && now.changeTime == then.changed
    }
}
