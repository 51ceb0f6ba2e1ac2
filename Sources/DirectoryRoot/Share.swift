/// The shared directory as one requester may see and change it: the only way to a file for every handler.
///
/// Each operation resolves its path beneath the root's descriptor, applies the requester's rights, the hidden-name
/// rules, the policy and the locks, and only then touches the disk. All of them may wait for the disk unless they say
/// otherwise: call them on the I/O pool.
///
/// Symbolic links that stay inside the root are treated like the path that they resolve to: rights, hidden names,
/// `base` and locks hold for both. Links that leave it, absolute and dangling ones do not exist for reading, listing or
/// deleting, and a write to their name is ``RootError/forbidden``. An upload through a link replaces the file that it
/// points at; deleting, moving and replacing by a copy or move act on the link itself.
public struct Share: Sendable {
    /// What is shared.
    public let root: DirectoryRoot
    /// Where this view begins.
    ///
    /// Every path passed to it, or returned by it, is relative to this one, and nothing beside or above it exists. May
    /// be a single file (then only ``SharePath/root`` exists). Used by share links.
    public var base: SharePath
    /// What this requester may do, by path from the root (not from ``base``).
    public var rights: RightsMap
    /// Whether the requester has come by a share link, be it one to the root.
    package var isGuest = false
    /// The authenticated user's name, recorded as the creator of locks; nil when the requester gave no name.
    public var user: String?
    /// The client's address, which identifies a requester without a name; nil when unknown.
    package var peer: String?
    /// Tells what one requester does, one after the other, from what others do meanwhile; 0 when that is unknown.
    package var origin: UInt64 = 0
    /// Whether the number of downloads is limited and each one counted: then nothing is read that was not asked for.
    package var countsDownloads = false
    /// Lock tokens submitted with the request, already matched with the resources they were submitted for.
    public var tokens: [LockToken]
    /// A condition that must also hold for any write; nil for none.
    ///
    /// Checked under the lock under which names change, right before they do: no other change by this server comes in
    /// between. Must only read. If it returns false, ``RootError/preconditionFailed`` is thrown.
    public var precondition: (@Sendable () throws(RootError) -> Bool)?
    /// Called after each change of a name or its content; for a ``precondition`` of several changes.
    public var afterChange: (@Sendable () -> Void)?

    /// A view of the whole share, or of a part of it.
    public init(
        root: DirectoryRoot, base: SharePath = .root, rights: RightsMap = .all, user: String? = nil,
        tokens: [LockToken] = []
    ) {
        self.root = root
        self.base = base
        self.rights = rights
        self.user = user
        self.tokens = tokens
    }
}

/// What may stand at the target of a write; checked at the start and again under the lock that renames.
public enum Replacement: Sendable {
    /// The name must be free; else ``RootError/exists``.
    case nothing
    /// Whatever is there is replaced or removed, unless the policy or the requester's rights forbid it.
    case anything
    /// The closure gets what is there now (nil when nothing is) and returns whether to proceed; else
    /// ``RootError/preconditionFailed``.
    case when(@Sendable (FileAttributes?) -> Bool)

    /// The same, but only if `allows` returns true for what is there.
    package func and(_ allows: @escaping @Sendable (FileAttributes?) -> Bool) -> Replacement {
        switch self {
        case .nothing: .nothing
        case .anything: .when(allows)
        case .when(let holds): .when { allows($0) && holds($0) }
        }
    }
}

/// How a copy or move went.
public struct TransferResult: Sendable {
    /// The target did not exist before (201); else it was replaced (204).
    public var created: Bool
    /// The members that were left out, and why.
    public var failures: [MemberFailure]

    /// Both as given.
    public init(created: Bool, failures: [MemberFailure]) {
        self.created = created
        self.failures = failures
    }
}

/// The space on a file system, in bytes.
public struct DiskSpace: Sendable {
    /// Bytes that an ordinary user may still write.
    public var available: Int64
    /// Bytes in use.
    public var used: Int64

    /// Both as given.
    public init(available: Int64, used: Int64) {
        self.available = available
        self.used = used
    }
}
