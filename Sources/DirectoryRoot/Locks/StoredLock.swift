/// A lock as the table keeps it.
struct StoredLock: Equatable, Sendable {
    var token: String
    /// From the root.
    var root: SharePath
    var isExclusive: Bool
    var isRecursive: Bool
    var owner: [UInt8]
    var user: String?
    /// The time-out that was granted, counted from then.
    var duration: Duration
    /// When it ends by the time of day: survives a restart.
    var expires: Timestamp
    /// When it ends by this process's uptime: counts while the process runs, whatever happens to the time of day.
    ///
    /// Not written to the file.
    var deadline: Duration
    /// Whether the disk may know the root, or a folder above it, by other spellings too.
    var isRespelled = false

    /// Whether the lock protects `path` itself.
    func covers(_ path: SharePath) -> Bool { root == path || isRecursive && root.isAncestor(of: path) }

    func active(at uptime: Duration) -> ActiveLock {
        ActiveLock(
            token: LockToken(uri: token), root: root, isExclusive: isExclusive, isRecursive: isRecursive, owner: owner,
            user: user, timeLeft: max(.zero, deadline - uptime))
    }
}

extension StoredLock {
    /// Reads a record.
    ///
    /// A clock that was set back meanwhile can't make the lock last longer than it was granted for.
    init(_ record: StateRecord, wall: Timestamp, uptime: Duration) throws(DamagedState) {
        guard let token = record.text("token"), let root = record["root"], let expires = record.time("expires"),
            let seconds = record.number("seconds"), seconds >= 0
        else { throw DamagedState() }
        self.token = token
        self.root = SharePath(unchecked: root)
        isExclusive = record.flag("exclusive")
        isRecursive = record.flag("recursive")
        owner = record["owner"] ?? []
        user = record.text("user")
        isRespelled = record.flag("respelled")
        duration = .seconds(seconds)
        self.expires = expires
        deadline = uptime + min(expires.since(wall), duration)
    }

    var record: StateRecord {
        var record = StateRecord()
        record.set("token", token)
        record.set("root", root.bytes)
        record.set("exclusive", isExclusive)
        record.set("recursive", isRecursive)
        record.set("seconds", duration.components.seconds)
        record.set("expires", expires)
        record.set("user", user)
        record.set("respelled", isRespelled)
        record.set("owner", owner.isEmpty ? nil : owner)
        return record
    }
}
