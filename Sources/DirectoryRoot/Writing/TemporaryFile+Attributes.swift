import CSyscalls

extension TemporaryFile {
    /// Whether the file's status has changed.
    func hasChanged(since before: sys_attributes) throws(RootError) -> Bool {
        let now = try status()
        return (now.mode, now.owner, now.group) != (before.mode, before.owner, before.group)
            || (now.changed, now.changed_ns) != (before.changed, before.changed_ns)
    }

    /// Sets the modification time; without one given, the current time in the clock's full resolution: two contents
    /// written within one tick of the kernel's coarse clock must differ in their entity tags.
    func setModified(_ time: Timestamp?) throws(RootError) {
        let time = time ?? .now
        let nanoseconds = Int64(min(max(time.nanoseconds, 0), 999_999_999))
        try check(sys_set_times(descriptor, 0, -1, time.seconds, nanoseconds), "futimens")
    }

    /// Takes the group, the permission bits and the access control list that a file gets when it is created in `folder`.
    ///
    /// For one that was created elsewhere. POSIX.1-2017 `open`; POSIX.1e, default ACLs.
    /// - Parameters:
    ///   - folder: open at least for `*at` calls.
    ///   - root: for scratch names and abilities.
    /// - Throws: what the disk reports.
    func takeRights(of folder: borrowing Descriptor, in root: DirectoryRoot) throws(RootError) {
        // The kernel knows.
        let model = try TemporaryFile(in: root, near: folder)
        let hasAccessList = try FileMetadata.carryAttributes(from: model.descriptor, to: descriptor)
        try keepPermissions(of: model.status(), where: status(), hasAccessList: hasAccessList)
    }

    /// Takes over owner, group and permission bits of the file that will be replaced.
    ///
    /// If it can't be given to that owner or group, it is accessible to nobody who had no access before, except to this
    /// process's user.
    /// - Parameters:
    ///   - old: the status of that file.
    ///   - new: the status of this one.
    ///   - hasAccessList: whether this one has that file's access control list, or neither has one.
    /// - Throws: what the disk reports.
    func keepPermissions(
        of old: sys_attributes, where new: sys_attributes, hasAccessList: Bool
    ) throws(RootError) {
        guard old.isFile else { return }
        // A list may have excluded users whom the bits include: without the list, the bits are reliable for the owner
        // only.
        let wanted = old.mode & (hasAccessList ? 0o777 : 0o700)
        // While this process still owns it.
        if new.mode & 0o777 != wanted { try check(sys_chmod(descriptor, wanted), "fchmod") }
        if old.owner == new.owner, old.group == new.group { return }
        let given = Ownership.give(descriptor, to: old)
        var mode = wanted
        if !given.owner, old.owner != new.owner { mode |= 0o600 }
        if !given.group, old.group != new.group {
            // Members of the new file's group were among all others before, and members of the old one's group are now.
            let both = mode >> 3 & mode & 0o007
            mode = mode & 0o700 | both << 3 | both
        }
        if mode != wanted { try check(sys_chmod(descriptor, mode), "fchmod") }
    }
}
