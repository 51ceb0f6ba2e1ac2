/// The shared directory as one requester may see and change it: every door's only way to a file.
///
/// Each operation resolves its path beneath the root's descriptor, applies the requester's rights, the hidden-name
/// rules, the policy and the locks, and only then touches the disk. All of them may wait for the disk unless they say
/// otherwise: call them on the I/O pool.
public struct Share: Sendable {
    public let root: DirectoryRoot
    /// Where this view begins: every path given to it, or returned by it, is relative to this one, and nothing beside or
    /// above it exists. May be a single file (then only ``SharePath/root`` exists). Share links use it.
    public var base: SharePath
    /// What this requester may do, by path from the root (not from ``base``).
    public var rights: RightsMap
    /// The authenticated user's name, kept as a lock's creator; nil for everybody.
    public var user: String?
    /// Lock tokens submitted with the request, already matched with the resources they were submitted for.
    public var tokens: [LockToken]

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

    /// Opens a regular file or a directory.
    /// - Parameter waiting: false on an event loop: throws ``RootError/wouldBlock`` instead of waiting for a disk.
    public func open(_ path: SharePath, waiting: Bool = true) throws(RootError) -> Entry { fatalError() }

    /// What is at `path`, following links that stay inside the root.
    public func attributes(of path: SharePath) throws(RootError) -> FileAttributes { fatalError() }

    /// The members of a directory, in the disk's order, without holding them: constant memory for any number.
    /// Names that the requester may not see are left out.
    public func list(_ path: SharePath) throws(RootError) -> DirectoryCursor { fatalError() }

    /// Creates one directory; `precondition` as in ``beginUpload(to:replacing:size:)``.
    public func createDirectory(at path: SharePath, replacing: Replacement = .nothing) throws(RootError) {
        fatalError()
    }

    /// Starts writing a new content for `path`; nothing shows under the name before ``PendingUpload/commit()``.
    /// Checks rights, locks, parent and precondition at once, so that a hopeless body need not be read; all are checked
    /// again in the commit.
    /// - Parameter size: the number of bytes that will come, where known: refused early when there is no room.
    public func beginUpload(
        to path: SharePath, replacing: Replacement, size: Int64? = nil
    ) throws(RootError) -> PendingUpload { fatalError() }

    /// Copies a file or a tree (`recursive`), with dead properties and without locks, built beside and swapped in.
    /// - Returns: whether the target is new, and the members that could not be copied.
    public func copy(
        _ source: SharePath, to target: SharePath, recursive: Bool = true, replacing: Replacement
    ) throws(RootError) -> TransferResult { fatalError() }

    /// Moves a file or tree: one rename, or copy and delete across file systems. Locks of the source end.
    public func move(
        _ source: SharePath, to target: SharePath, replacing: Replacement
    ) throws(RootError) -> TransferResult { fatalError() }

    /// Removes a file or tree with its locks and properties.
    /// - Returns: the members that could not be removed; empty when all is gone.
    public func remove(
        _ path: SharePath, when precondition: Replacement = .anything
    ) throws(RootError) -> [MemberFailure] { fatalError() }

    /// Room on the file system that holds `path`. RFC 4331.
    public func space(at path: SharePath) throws(RootError) -> DiskSpace { fatalError() }

    /// Sets times of a file or directory as a client asked (`X-OC-Mtime`, Win32LastModifiedTime); nil leaves one alone.
    public func setTimes(of path: SharePath, modified: Timestamp?, accessed: Timestamp? = nil) throws(RootError) {
        fatalError()
    }

    // Properties (RFC 4918 §4)

    /// All dead properties of a resource, in the order of their first setting; empty at no cost when there are none.
    public func properties(of path: SharePath) throws(RootError) -> [DeadProperty] { fatalError() }

    /// Applies all changes in order, or none.
    public func updateProperties(of path: SharePath, _ changes: [PropertyChange]) throws(RootError) { fatalError() }

    // Locks (RFC 4918 §6, §7)

    /// The locks that cover `path`, its own and those of depth infinity above. One `stat` when nothing changed.
    public func locks(covering path: SharePath) throws(RootError) -> [ActiveLock] { fatalError() }

    /// Takes a write lock; an unmapped name becomes an empty file (`created`).
    /// - Throws: ``RootError/locked(_:)`` naming the conflicting lock roots.
    public func lock(_ path: SharePath, _ request: LockRequest) throws(RootError) -> (lock: ActiveLock, created: Bool) {
        fatalError()
    }

    /// Restarts the time-out of those submitted locks that cover `path`.
    public func refreshLocks(
        at path: SharePath, timeout: Duration?
    ) throws(RootError) -> [ActiveLock] { fatalError() }

    /// Ends a lock.
    /// - Throws: ``RootError/unknownToken`` when no such lock covers `path`; ``RootError/forbidden`` for another user's.
    public func unlock(_ path: SharePath, token: LockToken) throws(RootError) { fatalError() }
}

/// What may stand at the target of a write; checked at the start and again under the lock that renames.
public enum Replacement: Sendable {
    /// The name must be free; else ``RootError/exists``.
    case nothing
    case anything
    /// The closure sees what is there now (nil when nothing) and returns whether to go on; else ``RootError/preconditionFailed``.
    case when(@Sendable (FileAttributes?) -> Bool)
}

public struct TransferResult: Sendable {
    /// The target did not exist before (201); else it was replaced (204).
    public var created: Bool
    public var failures: [MemberFailure]

    public init(created: Bool, failures: [MemberFailure]) {
        self.created = created
        self.failures = failures
    }
}

public struct DiskSpace: Sendable {
    /// Bytes an ordinary user may still write.
    public var available: Int64
    public var used: Int64

    public init(available: Int64, used: Int64) {
        self.available = available
        self.used = used
    }
}
