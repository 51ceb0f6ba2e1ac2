import CSyscalls

/// A user of this machine, to whom files belong.
package struct FileOwner: Equatable, Sendable {
    package var user: UInt32
    package var group: UInt32

    package init(user: UInt32, group: UInt32) {
        self.user = user
        self.group = group
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
        sys_files_as(user, group)
        defer { sys_files_as_myself() }
        return try body()
    }
}
