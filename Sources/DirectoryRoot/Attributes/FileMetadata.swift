import CSyscalls

/// What a file or directory has beside its content, its times and its dead properties.
///
/// Owner, permission bits, access lists, and what other programs keep in its extended attributes. Where a move has to
/// copy, they come along, but for what the other file system does not take or we may not give: as with `mv`, the file
/// itself is worth more.
enum FileMetadata {
    /// The most that the names of all attributes take.
    private static let longestList = 65_536

    /// - Parameters:
    ///   - source: open for reading.
    ///   - status: what the source is.
    ///   - target: what was made of it, by us.
    /// - Throws: what the disks say.
    static func carry(from source: Int32, _ status: sys_attributes, to target: Int32) throws(RootError) {
        let names = try attributes(of: source)
        // While the target is ours.
        for name in names where !accessLists.contains(name) { try carry(name, from: source, to: target) }
        for list in accessLists where !names.contains(list) { try takeOff(list, from: target) }
        let hasGroup = Ownership.give(target, to: status).group
        let bits = bits(of: status, hasGroup: hasGroup)
        try setBits(bits, of: target)
        // Last, since the bits are a part of an access list.
        for name in names where accessLists.contains(name) {
            let hasCome = try carry(name, from: source, to: target)
            // The group's bits were the most that the list gave anybody.
            if !hasCome, name == accessLists.first { try setBits(bits & ~0o077, of: target) }
        }
    }

    /// Sets the permission bits of what is ours, where the file system has any to set: elsewhere all files have the
    /// same.
    /// - Parameters:
    ///   - bits: with those that are beside the permissions.
    ///   - target: open.
    /// - Throws: what the disk says.
    static func setBits(_ bits: UInt32, of target: Int32) throws(RootError) {
        let answer = sys_chmod(target, bits)
        if ![-EPERM, -ENOTSUP, -EOPNOTSUPP, -EINVAL].contains(answer) { try check(answer, "fchmod") }
    }

    /// Carries the attributes of other programs and the access list only; owner and bits come after them.
    /// - Parameters:
    ///   - source: open for reading.
    ///   - target: still ours.
    /// - Returns: whether the target's access list is the source's now, or neither has one.
    /// - Throws: what the disks say.
    static func carryAttributes(from source: Int32, to target: Int32) throws(RootError) -> Bool {
        let names = try attributes(of: source)
        var hasList = true
        for name in names {
            let hasCome = try carry(name, from: source, to: target)
            if name == accessLists.first { hasList = hasCome }
        }
        if accessLists.first.map({ !names.contains($0) }) == true { try takeOffAccessList(from: target) }
        return hasList
    }

    /// Takes off a new file what its folder has for all that is new in it.
    /// - Parameter target: ours.
    /// - Throws: what the disk says.
    static func takeOffAccessList(from target: Int32) throws(RootError) {
        guard let list = accessLists.first else { return }
        try takeOff(list, from: target)
    }

    private static func takeOff(_ list: [CChar], from target: Int32) throws(RootError) {
        // Most have none; to look is cheaper than to take away nothing.
        guard unsafe sys_get_attribute(target, list, nil, 0) > 0 else { return }
        try check(unsafe sys_remove_attribute(target, list), "fremovexattr")
    }

    /// The permission bits that come along.
    ///
    /// Of a folder also that only owners rename in it and, where it got its group, that what is made in it gets that,
    /// too. What runs as another user is never made.
    private static func bits(of status: sys_attributes, hasGroup: Bool) -> UInt32 {
        guard status.isDirectory else { return status.mode & 0o777 }
        return status.mode & (hasGroup ? 0o3777 : 0o1777)
    }

    #if canImport(Darwin)
        private static let ofPrograms: [CChar] = []
        private static let accessLists: [[CChar]] = []
    #else
        private static let ofPrograms = Array("user.".utf8CString.dropLast())
        private static let accessLists = ["system.posix_acl_access", "system.posix_acl_default"].map {
            Array($0.utf8CString)
        }
    #endif

    /// The names of those that are carried, each ended by NUL.
    private static func attributes(of source: Int32) throws(RootError) -> [[CChar]] {
        var list = [CChar](repeating: 0, count: longestList)
        let count = unsafe sys_list_attributes(source, &list, list.count)
        // EIO is what some file systems say that have none; ours is read next, and there a disk's error is told.
        if PropertyStore.meansNoAttribute(count) || count == -Int(EIO) { return [] }
        try check(count, "flistxattr")
        return list[..<count].split(separator: 0).filter { carries($0) }.map { Array($0) + [0] }
    }

    /// Whether an attribute of this name comes along.
    static func carries(_ name: some Collection<CChar>) -> Bool {
        (name.starts(with: ofPrograms) || accessLists.contains { $0.dropLast().elementsEqual(name) })
            && !name.elementsEqual(PropertyStore.attribute.utf8CString.dropLast())
    }

    /// - Returns: whether the target has it now; true, too, where the source has it no more.
    @discardableResult
    private static func carry(_ name: [CChar], from source: Int32, to target: Int32) throws(RootError) -> Bool {
        let size = unsafe sys_get_attribute(source, name, nil, 0)
        if PropertyStore.meansNoAttribute(size) { return true }
        var value = try [UInt8](repeating: 0, count: check(size, "fgetxattr"))
        let count = unsafe value.withUnsafeMutableBytes { bytes in
            unsafe sys_get_attribute(source, name, bytes.baseAddress, bytes.count)
        }
        if PropertyStore.meansNoAttribute(count) { return true }
        // It grew in between.
        if count == -Int(ERANGE) { return false }
        try check(count, "fgetxattr")
        // Too large, of users whom nobody knows there, not for us to set: all of it is left out.
        let answer = unsafe sys_set_attribute(target, name, value, count)
        if answer == -EIO { try check(answer, "fsetxattr") }
        return answer >= 0
    }
}
