import CSyscalls

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// A user of this machine, as the owner of files.
package struct FileOwner: Equatable, Sendable {
    package let user: UInt32
    package let group: UInt32
    /// The user's groups: the share may be accessible through one of them only.
    private let groups: [UInt32]

    private static let mostGroups = 1_024

    package init(user: UInt32, group: UInt32) {
        self.user = user
        self.group = group
        groups = unsafe [UInt32](unsafeUninitializedCapacity: Self.mostGroups) { buffer, count in
            count = unsafe Int(sys_groups_of(user, buffer.baseAddress, Int32(buffer.count)))
        }
    }

    /// The user of this name; nil when there is none.
    package init?(named name: String) {
        var user: UInt32 = 0
        var group: UInt32 = 0
        guard unsafe sys_find_user(name, &user, &group) == 0 else { return nil }
        self.init(user: user, group: group)
    }

    /// Runs `body` with this user's file access rights, and with the user as owner of new files; in a process that does
    /// not run as root, without any change.
    func acting<Result, Failure>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
        guard geteuid() == 0 else { return try body() }
        var own = [UInt32](repeating: 0, count: max(0, Int(getgroups(0, nil))))
        unsafe getgroups(Int32(own.count), &own)
        unsafe sys_files_as(user, group, groups, Int32(groups.count))
        defer { unsafe sys_files_as(geteuid(), getegid(), own, Int32(own.count)) }
        return try body()
    }
}
