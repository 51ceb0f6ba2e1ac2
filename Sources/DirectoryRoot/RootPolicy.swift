/// Rules about files that hold for all requests.
public struct RootPolicy: Sendable {
    /// Nothing is ever written, not even the server's own state.
    public var isReadOnly = false
    /// Nothing that exists may be deleted.
    public var refusesDelete = false
    /// No existing content may be changed.
    public var refusesOverwrite = false
    /// Shell patterns; a path with a component that matches one does not exist for any requester.
    ///
    /// On a disk that ignores case, matched in any spelling.
    public var hidden: [String] = []
    /// The extensions of which a new file must have one; empty allows all.
    ///
    /// Lower-case, without the dot.
    public var allowedExtensions: [String] = []
    /// Whether `.DS_Store` and `._*` are refused.
    public var refusesAppleFiles = false
    /// The most bytes of an upload; nil for no limit.
    public var maxUploadSize: Int64?
    /// Bytes that must stay free on the disk.
    public var minFreeSpace: Int64 = 0
    /// Whether a write is answered only after it is on the disk.
    public var waitsForDisk = false
    /// The longest time-out that a lock gets.
    public var maxLockDuration: Duration = .seconds(86_400)
    /// The most locks in all.
    public var maxLocks = 10_000
    /// The most locks of one user; those of requesters without a name count only towards ``maxLocks``.
    ///
    /// A mounted drive (davfs2) holds one for each file that it has yet to send.
    public var maxLocksPerUser = 5_000
    /// The most unfinished resumable uploads.
    public var maxUploads = 1_000
    /// How long a resumable upload is kept without progress.
    public var uploadExpiry: Duration = .seconds(86_400)
    /// Days for which everything that is deleted or replaced is kept; 0 keeps only what is deleted on the page, for a
    /// minute, or for as long as its undoing may take.
    public var trashDays = 0
    /// The most folders watched at once for open pages; any further ones are polled every two seconds.
    public var maxWatches = 1_024
    /// The owner of the state that a root process creates; nil for the process's own user.
    ///
    /// Either the user that the process is about to become, or that of the server of the share.
    package var stateOwner: FileOwner?
    /// An app that embeds the server, asked before changes and informed after them.
    public var observer: (any ShareObserver)?

    /// Allows everything, within limits that suit a small machine.
    public init() {}

    /// - Throws: ``RootError/overLimit(_:)`` for a file of `size` bytes or more when it exceeds the limit.
    func requireSize(_ size: Int64) throws(RootError) {
        if let maxUploadSize, size > maxUploadSize { throw .overLimit(maxUploadSize) }
    }
}
