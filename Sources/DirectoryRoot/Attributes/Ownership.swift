import CSyscalls

/// Gives files of ours to whom others belonged.
enum Ownership {
    /// The number under which a namespace shows whomever it has no number for, and which may be somebody in it; nil
    /// where everybody has one.
    ///
    /// user_namespaces(7).
    private static let stranger: UInt32? = {
        let opened = unsafe sys_openat(AT_FDCWD, "/proc/self/uid_map", O_RDONLY, 0)
        guard opened >= 0 else { return 65_534 }
        let file = Descriptor(owning: opened)
        var text = [UInt8](repeating: 0, count: 128)
        let count = unsafe text.withUnsafeMutableBytes { unsafe sys_read(file.number, $0.baseAddress, $0.count) }
        let numbers = text.prefix(max(0, count)).split { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\n") }
        return numbers.map { String(decoding: $0, as: UTF8.self) } == ["0", "0", "4294967295"] ? nil : 65_534
    }()

    /// Finds out what is kept of it, which a process that confines itself can't do later.
    static func prepare() { _ = stranger }

    /// Gives a file to an owner and a group, as far as may be.
    /// - Parameters:
    ///   - descriptor: of the file.
    ///   - status: of what belongs to them.
    /// - Returns: which of the two have it now.
    static func give(_ descriptor: Int32, to status: sys_attributes) -> (owner: Bool, group: Bool) {
        let owner = status.owner == stranger ? .max : status.owner
        let group = status.group == stranger ? .max : status.group
        if sys_chown(descriptor, owner, group) == 0 { return (owner != .max, group != .max) }
        return (false, group != .max && sys_chown(descriptor, .max, group) == 0)
    }
}
