/// A lock's name.
///
/// RFC 4918 §6.5.
public struct LockToken: Hashable, Sendable {
    /// An absolute URI: `urn:uuid:…`.
    public let uri: String

    /// Names a lock.
    public init(uri: String) { self.uri = uri }
}

/// What a LOCK asks for.
///
/// RFC 4918 §9.10.
public struct LockRequest: Sendable {
    /// False is a shared lock.
    public var isExclusive: Bool
    /// Depth infinity; false is depth 0.
    public var isRecursive: Bool
    /// The `owner` element's whole XML as sent, self-contained; empty when none was sent.
    ///
    /// At most ``mostOwnerBytes``.
    public var owner: [UInt8]
    /// The time-out that the client asked for; clipped to the server's maximum.
    public var timeout: Duration?

    /// Bytes that ``owner`` may have.
    package static let mostOwnerBytes = 8_192

    /// Asks for a lock.
    /// - Parameters:
    ///   - isExclusive: false is a shared lock.
    ///   - isRecursive: depth infinity; false is depth 0.
    ///   - owner: the `owner` element as sent.
    ///   - timeout: what the client asked for.
    public init(isExclusive: Bool, isRecursive: Bool, owner: [UInt8], timeout: Duration?) {
        self.isExclusive = isExclusive
        self.isRecursive = isRecursive
        self.owner = owner
        self.timeout = timeout
    }
}

/// A lock in force.
public struct ActiveLock: Hashable, Sendable {
    /// Its name.
    public var token: LockToken
    /// What it was taken on.
    public var root: SharePath
    /// False is a shared lock.
    public var isExclusive: Bool
    /// Depth infinity; false is depth 0.
    public var isRecursive: Bool
    /// The `owner` element as sent; empty when none was.
    public var owner: [UInt8]
    /// The authenticated user who took it; nil when the requester gave no name.
    public var user: String?
    /// The time left when this was asked for.
    public var timeLeft: Duration

    /// Describes a lock.
    /// - Parameters:
    ///   - token: its name.
    ///   - root: what it was taken on.
    ///   - isExclusive: false is a shared lock.
    ///   - isRecursive: depth infinity; false is depth 0.
    ///   - owner: the `owner` element as sent.
    ///   - user: who took it; nil when the requester gave no name.
    ///   - timeLeft: when it was asked for.
    public init(
        token: LockToken, root: SharePath, isExclusive: Bool, isRecursive: Bool, owner: [UInt8], user: String?,
        timeLeft: Duration
    ) {
        self.token = token
        self.root = root
        self.isExclusive = isExclusive
        self.isRecursive = isRecursive
        self.owner = owner
        self.user = user
        self.timeLeft = timeLeft
    }
}
