import CSyscalls

/// What a file or directory has beside its content, its times and its dead properties.
///
/// Owner, permission bits, access control lists, and the extended attributes of other programs. When a move has to
/// copy, they are carried along, except what the other file system does not support or this process may not set: as
/// with `mv`, the file itself is worth more.
enum FileMetadata {
    /// The most bytes that the names of all attributes may take.
    private static let longestList = 65_536

    /// - Parameters:
    ///   - source: open for reading.
    ///   - status: what the source is.
    ///   - target: its copy, created and still owned by us.
    /// - Throws: what the disks report.
    static func carry(from source: Int32, _ status: sys_attributes, to target: Int32) throws(RootError) {
        let names = try attributes(of: source)
        // First, while we still own the target.
        for name in names where !accessLists.contains(name) { try carry(name, from: source, to: target) }
        for list in accessLists where !names.contains(list) { try takeOff(list, from: target) }
        let hasGroup = Ownership.give(target, to: status).group
        let bits = bits(of: status, hasGroup: hasGroup)
        try setBits(bits, of: target)
        // Access control lists come last, since they include the permission bits.
        for name in names where accessLists.contains(name) {
            let hasCome = try carry(name, from: source, to: target)
            // The group's bits were the upper bound (mask) of what the list grants anybody.
            if !hasCome, name == accessLists.first { try setBits(bits & ~0o077, of: target) }
        }
    }

    /// Sets the permission bits of a file of ours; does nothing where the file system has none to set (there all files
    /// have the same).
    /// - Parameters:
    ///   - bits: permissions, and the set-ID and sticky bits.
    ///   - target: open.
    /// - Throws: what the disk reports.
    static func setBits(_ bits: UInt32, of target: Int32) throws(RootError) {
        var answer = sys_chmod(target, bits)
        // A service may be kept from set-ID bits alone (RestrictSUIDSGID= of systemd).
        if answer == -EPERM, bits & 0o6000 != 0 { answer = sys_chmod(target, bits & 0o1777) }
        if ![-EPERM, -ENOTSUP, -EOPNOTSUPP, -EINVAL].contains(answer) { try check(answer, "fchmod") }
    }

    /// Whether what is created in a directory gets more from it than from the process: its group, or what its default
    /// access control list says; also if that can't be told.
    static func givesRights(_ directory: Int32) -> Bool {
        guard let status = try? sys_attributes(of: directory), status.mode & 0o2000 == 0 else { return true }
        guard let list = accessLists.last else { return false }
        // It may be open for `*at` calls only.
        let opened = unsafe sys_openat(directory, ".", O_RDONLY | O_DIRECTORY, 0)
        guard opened >= 0 else { return true }
        let readable = Descriptor(owning: opened)
        return unsafe sys_get_attribute(readable.number, list, nil, 0) > 0
    }

    /// Carries other programs' attributes and the access control list only; owner and bits come after them.
    /// - Parameters:
    ///   - source: open for reading.
    ///   - target: still owned by us.
    /// - Returns: whether the target now has the source's access control list, or neither has one.
    /// - Throws: what the disks report.
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

    /// Removes from a new file the access control list that it inherited from its folder.
    /// - Parameter target: owned by us.
    /// - Throws: what the disk reports.
    static func takeOffAccessList(from target: Int32) throws(RootError) {
        guard let list = accessLists.first else { return }
        try takeOff(list, from: target)
    }

    private static func takeOff(_ list: [CChar], from target: Int32) throws(RootError) {
        // Most files have no list, and looking is cheaper than removing nothing.
        guard unsafe sys_get_attribute(target, list, nil, 0) > 0 else { return }
        try check(unsafe sys_remove_attribute(target, list), "fremovexattr")
    }

    /// The permission bits that are carried along.
    ///
    /// For a folder also the sticky bit and, where its group could be set, the set-group-ID bit. A set-user-ID bit is
    /// never carried, nor any set-ID bit of a file.
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

    /// The names of the attributes that are carried, each ended by NUL.
    private static func attributes(of source: Int32) throws(RootError) -> [[CChar]] {
        var list = [CChar](repeating: 0, count: longestList)
        let count = unsafe sys_list_attributes(source, &list, list.count)
        // Some file systems without attributes answer EIO; our own attribute is read next, and an error of the disk is
        // reported there.
        if PropertyStore.meansNoAttribute(count) || count == -Int(EIO) { return [] }
        try check(count, "flistxattr")
        return list[..<count].split(separator: 0).filter { carries($0) }.map { Array($0) + [0] }
    }

    /// Whether an attribute of this name is carried along.
    static func carries(_ name: some Collection<CChar>) -> Bool {
        (name.starts(with: ofPrograms) || accessLists.contains { $0.dropLast().elementsEqual(name) })
            && !name.elementsEqual(PropertyStore.attribute.utf8CString.dropLast())
    }

    /// - Returns: whether the target has it now; true also when the source no longer has it.
    @discardableResult
    private static func carry(_ name: [CChar], from source: Int32, to target: Int32) throws(RootError) -> Bool {
        let size = unsafe sys_get_attribute(source, name, nil, 0)
        if PropertyStore.meansNoAttribute(size) { return true }
        var value = try [UInt8](repeating: 0, count: check(size, "fgetxattr"))
        let count = unsafe value.withUnsafeMutableBytes { bytes in
            unsafe sys_get_attribute(source, name, bytes.baseAddress, bytes.count)
        }
        if PropertyStore.meansNoAttribute(count) { return true }
        // It grew between the two calls.
        if count == -Int(ERANGE) { return false }
        try check(count, "fgetxattr")
        // Too large, about users unknown there, or not permitted to us: the whole attribute is left out.
        let answer = unsafe sys_set_attribute(target, name, value, count)
        if answer == -EIO { try check(answer, "fsetxattr") }
        return answer >= 0
    }
}
