import CSyscalls

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// A user of this machine, to whom files belong.
package struct FileOwner: Equatable, Sendable {
    package let user: UInt32
    package let group: UInt32
    /// The groups that they are in: the share may be open to one of these alone.
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

    /// Runs `body` with files as this user has them, neither theirs nor opened with more than their rights; in a
    /// process that is not root's, as ever.
    func acting<Result, Failure>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
        guard geteuid() == 0 else { return try body() }
        var own = [UInt32](repeating: 0, count: max(0, Int(getgroups(0, nil))))
        unsafe getgroups(Int32(own.count), &own)
        unsafe sys_files_as(user, group, groups, Int32(groups.count))
        defer { unsafe sys_files_as(geteuid(), getegid(), own, Int32(own.count)) }
        return try body()
    }
}
