/// A lock's name, an absolute URI: `urn:uuid:…`. RFC 4918 §6.5.
public struct LockToken: Hashable, Sendable {
    public let uri: String

    public init(uri: String) { self.uri = uri }
}

/// What a LOCK asks for. RFC 4918 §9.10.
public struct LockRequest: Sendable {
    public var isExclusive: Bool
    /// Depth infinity; false is depth 0.
    public var isRecursive: Bool
    /// The `owner` element's whole XML as sent, self-contained; empty when none was sent. At most 8 KiB.
    public var owner: [UInt8]
    /// What the client asked for; clipped to the server's maximum.
    public var timeout: Duration?

    public init(isExclusive: Bool, isRecursive: Bool, owner: [UInt8], timeout: Duration?) {
        self.isExclusive = isExclusive
        self.isRecursive = isRecursive
        self.owner = owner
        self.timeout = timeout
    }
}

/// A lock in force.
public struct ActiveLock: Hashable, Sendable {
    public var token: LockToken
    public var root: SharePath
    public var isExclusive: Bool
    public var isRecursive: Bool
    public var owner: [UInt8]
    /// The authenticated user who took it; nil for everybody.
    public var user: String?
    /// Time left at the moment of asking.
    public var timeLeft: Duration

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
