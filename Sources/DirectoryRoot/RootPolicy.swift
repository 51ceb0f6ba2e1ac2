/// Rules about files that hold for every door and requester.
public struct RootPolicy: Sendable {
    /// Nothing is ever written, state neither.
    public var isReadOnly = false
    /// Nothing that is there goes.
    public var refusesDelete = false
    /// No content that is there changes.
    public var refusesOverwrite = false
    /// Shell patterns; a path with a component that matches does not exist, on any door.
    ///
    /// On a disk that ignores case, in any letters.
    public var hidden: [String] = []
    /// New files must end in one of these; empty allows all.
    ///
    /// Lower-case, without dot.
    public var allowedExtensions: [String] = []
    /// `.DS_Store` and `._*` are refused.
    public var refusesAppleFiles = false
    /// Bytes; nil for no limit.
    public var maxUploadSize: Int64?
    /// Bytes that must stay free on the disk.
    public var minFreeSpace: Int64 = 0
    /// Wait for the disk before a write is answered.
    public var waitsForDisk = false
    /// The longest time-out that a lock gets.
    public var maxLockDuration: Duration = .seconds(86_400)
    /// Locks in all.
    public var maxLocks = 10_000
    /// Locks of one user; those of people without a name only count in all.
    ///
    /// A mounted drive (davfs2) holds one for each file that it has yet to send.
    public var maxLocksPerUser = 5_000
    /// Resumable uploads that are not over yet.
    public var maxUploads = 1_000
    /// How long a resumable upload waits for somebody to go on with it.
    public var uploadExpiry: Duration = .seconds(86_400)
    /// Days for which what any door deletes or replaces is kept; 0 keeps only the page's deletes, for a minute.
    public var trashDays = 0
    /// Folders watched at a time for those who look at them; more are looked at every two seconds.
    public var maxWatches = 1_024
    /// Whose the state is that a process of root's makes; nil for its own.
    ///
    /// The user's that it is about to become, or that of the server of the share.
    package var stateOwner: FileOwner?
    /// Asked and told about changes by an app that embeds the server.
    public var observer: (any ShareObserver)?

    /// Everything is allowed, within the limits that keep a small machine well.
    public init() {}

    /// - Throws: ``RootError/overLimit(_:)`` for a file of `size` bytes, or more, where it may not have as many.
    func requireSize(_ size: Int64) throws(RootError) {
        if let maxUploadSize, size > maxUploadSize { throw .overLimit(maxUploadSize) }
    }
}
