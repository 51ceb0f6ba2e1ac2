import CSyscalls

/// Gives files of ours the owner and group that another file has.
enum Ownership {
    /// The user ID that a namespace shows for every user without one in it; nil when every user has an ID in it.
    ///
    /// A real user may have the same ID. See user_namespaces(7), overflow IDs.
    private static let stranger: UInt32? = {
        let opened = unsafe sys_openat(AT_FDCWD, "/proc/self/uid_map", O_RDONLY, 0)
        guard opened >= 0 else { return 65_534 }
        let file = Descriptor(owning: opened)
        var text = [UInt8](repeating: 0, count: 128)
        let count = unsafe text.withUnsafeMutableBytes { unsafe sys_read(file.number, $0.baseAddress, $0.count) }
        let numbers = text.prefix(max(0, count)).split { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\n") }
        return numbers.map { String(decoding: $0, as: UTF8.self) } == ["0", "0", "4294967295"] ? nil : 65_534
    }()

    /// Reads ``stranger`` now: a process that has confined itself can't do so later.
    static func prepare() { _ = stranger }

    /// Gives a file to an owner and a group, as far as permitted.
    /// - Parameters:
    ///   - descriptor: of the file.
    ///   - status: of the file whose owner and group are wanted.
    /// - Returns: which of the two the file has now.
    static func give(_ descriptor: Int32, to status: sys_attributes) -> (owner: Bool, group: Bool) {
        let owner = status.owner == stranger ? .max : status.owner
        let group = status.group == stranger ? .max : status.group
        if sys_chown(descriptor, owner, group) == 0 { return (owner != .max, group != .max) }
        return (false, group != .max && sys_chown(descriptor, .max, group) == 0)
    }
}
