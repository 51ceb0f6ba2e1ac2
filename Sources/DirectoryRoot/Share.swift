/// The shared directory as one requester may see and change it: every door's only way to a file.
///
/// Each operation resolves its path beneath the root's descriptor, applies the requester's rights, the hidden-name
/// rules, the policy and the locks, and only then touches the disk. All of them may wait for the disk unless they say
/// otherwise: call them on the I/O pool.
///
/// Symbolic links that stay inside the root are as good as the path that they resolve to: rights, hidden names, `base`
/// and locks hold for both. Links that leave it, absolute and dangling ones do not exist for reading, listing or
/// deleting, and a write to their name is ``RootError/forbidden``. An upload through a link replaces the file that it
/// points at; deleting, moving and replacing by a copy or move treat the link itself.
public struct Share: Sendable {
    /// What is shared.
    public let root: DirectoryRoot
    /// Where this view begins.
    ///
    /// Every path given to it, or returned by it, is relative to this one, and nothing beside or above it exists. May
    /// be a single file (then only ``SharePath/root`` exists). Share links use it.
    public var base: SharePath
    /// What this requester may do, by path from the root (not from ``base``).
    public var rights: RightsMap
    /// The authenticated user's name, kept as a lock's creator; nil for everybody.
    public var user: String?
    /// Where the request came from, by which one without a name is known; nil tells nobody apart.
    package var peer: String?
    /// Whether each download is one of a number that there may be: then nothing is read that nobody asked for.
    package var countsDownloads = false
    /// Lock tokens submitted with the request, already matched with the resources they were submitted for.
    public var tokens: [LockToken]
    /// What else must hold for a write to happen, whatever it is about; nil asks nothing.
    ///
    /// Asked under the lock under which names change, right before they do: nothing that this server does comes between
    /// the answer and the change. Must only read. False is ``RootError/preconditionFailed``.
    public var precondition: (@Sendable () throws(RootError) -> Bool)?
    /// Told of each change of a name or of what is under it, once it is done; for a ``precondition`` of several
    /// changes.
    public var afterChange: (@Sendable () -> Void)?

    /// A view of all that is shared, or of a part.
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
    /// Whatever is there goes, unless the policy or the requester's rights forbid it.
    case anything
    /// The closure sees what is there now (nil when nothing) and returns whether to go on; else
    /// ``RootError/preconditionFailed``.
    case when(@Sendable (FileAttributes?) -> Bool)
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

/// Room on a file system.
public struct DiskSpace: Sendable {
    /// Bytes an ordinary user may still write.
    public var available: Int64
    /// Bytes that are taken.
    public var used: Int64

    /// Both as given.
    public init(available: Int64, used: Int64) {
        self.available = available
        self.used = used
    }
}
