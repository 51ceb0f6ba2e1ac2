import CSyscalls

extension TemporaryFile {
    /// Whether anything about it is not as it was.
    func hasChanged(since before: sys_attributes) throws(RootError) -> Bool {
        let now = try status()
        return (now.mode, now.owner, now.group) != (before.mode, before.owner, before.group)
            || (now.changed, now.changed_ns) != (before.changed, before.changed_ns)
    }

    /// Stamps the modification time, in the clock's full resolution where none is given: two contents written within
    /// one tick of the kernel's coarse clock must differ in their entity tags.
    func setModified(_ time: Timestamp?) throws(RootError) {
        let time = time ?? .now
        let nanoseconds = Int64(min(max(time.nanoseconds, 0), 999_999_999))
        try check(sys_set_times(descriptor, 0, -1, time.seconds, nanoseconds), "futimens")
    }

    /// Takes over owner, group and permission bits of the file that will be replaced.
    ///
    /// Where it may not be given to them, it opens to nobody whom the other was closed to, but for ourselves.
    /// - Parameters:
    ///   - old: that file.
    ///   - new: what this one is.
    ///   - hasAccessList: whether this one has the access list of that file, or neither has one.
    /// - Throws: what the disk says.
    func keepPermissions(
        of old: sys_attributes, where new: sys_attributes, hasAccessList: Bool
    ) throws(RootError) {
        guard old.isFile else { return }
        // A list may have closed it to some whom the bits let in: without it they tell of the owner alone.
        let wanted = old.mode & (hasAccessList ? 0o777 : 0o700)
        // While it is ours.
        if new.mode & 0o777 != wanted { try check(sys_chmod(descriptor, wanted), "fchmod") }
        if old.owner == new.owner, old.group == new.group { return }
        let given = Ownership.give(descriptor, to: old)
        var mode = wanted
        if !given.owner, old.owner != new.owner { mode |= 0o600 }
        if !given.group, old.group != new.group {
            // The members of this one were among all others, and those of that one are now.
            let both = mode >> 3 & mode & 0o007
            mode = mode & 0o700 | both << 3 | both
        }
        if mode != wanted { try check(sys_chmod(descriptor, mode), "fchmod") }
    }
}
