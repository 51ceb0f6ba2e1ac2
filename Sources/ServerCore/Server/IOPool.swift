/// The bounded pool of threads for everything that may wait for a disk.
public struct IOPool: Sendable {
    let threads: PoolThreads?
    let bounds: Bounds?
    let isFar: Bool

    /// Limits how much of the pool each kind of work may use.
    final class Bounds: Sendable {
        let passwords: WorkQueue
        let walks: WorkQueue
        let looks: AsyncSemaphore
        let spellings: AsyncSemaphore
        let digests: AsyncSemaphore
        let uploadDigests: AsyncSemaphore
        /// For files of which a reader wishes for a digest.
        let digestPlaces: Slots
        /// For files whose checksum is to be stored.
        let checksumPlaces: Slots
        let ranges: Int

        init(_ threads: PoolThreads, passwords: WorkQueue, _ limits: Limits) {
            self.passwords = passwords
            walks = WorkQueue(
                threads, atOnce: limits.treeWalks > 0 ? limits.treeWalks : threads.count / 2, longest: 256,
                full: "Too much is being copied and deleted at once. Try again in a few seconds.")
            // In addition to copying and deleting, so that some threads are left for everything else.
            looks = AsyncSemaphore(atOnce: threads.count / 4)
            spellings = AsyncSemaphore(atOnce: threads.count / 4)
            digests = AsyncSemaphore(atOnce: threads.count / 4)
            uploadDigests = AsyncSemaphore(atOnce: threads.count / 4)
            // Each has one of the places for requests, and an open file, for as long as all take together.
            let places = max(1, min(64, limits.requestsInFlight / 4))
            digestPlaces = Slots(places)
            checksumPlaces = Slots(places)
            ranges = limits.ranges
        }
    }

    private init(threads: PoolThreads?, bounds: Bounds?, isFar: Bool) {
        self.threads = threads
        self.bounds = bounds
        self.isFar = isFar
    }

    /// A pool of these threads.
    /// - Parameters:
    ///   - threads: its threads.
    ///   - passwords: the queue in which passwords are hashed.
    ///   - limits: the server's limits.
    ///   - isFar: whether it is for a far file system, which may block for long.
    init(threads: PoolThreads, passwords: WorkQueue, _ limits: Limits, isFar: Bool = false) {
        self.init(threads: threads, bounds: Bounds(threads, passwords: passwords, limits), isFar: isFar)
    }

    /// Whether much work waits for a disk that does not respond.
    var isStuck: Bool { threads?.isStuck ?? false }

    /// Refuses to wait when much work already waits for a disk that does not respond.
    /// - Throws: 503.
    package func requireAnswering() throws(HTTPError) {
        guard isFar, isStuck else { return }
        throw HTTPError("The disk that this is on does not answer. Try again later.", retryAfter: 10)
    }

    /// Runs the work immediately on the caller's thread: for tests.
    package static let inline = IOPool(threads: nil, bounds: nil, isFar: false)

    /// The most spans of a file in one response.
    package var mostRanges: Int { bounds?.ranges ?? RangeSelection.limit }

    /// Runs `work` on a thread of the pool: directly if the caller is already on one, as every handler's task is on
    /// one of the pool for its request's disk.
    /// - Parameters:
    ///   - isCancellable: whether work that still waits for a thread is dropped when its task is cancelled, as it is
    ///     when the client has gone.
    ///   - work: what is to be done.
    /// - Returns: the result of `work`.
    /// - Throws: what `work` throws; `CancellationError` when it was dropped.
    public func run<T: Sendable>(
        isCancellable: Bool = true, _ work: @escaping @Sendable () throws -> T
    ) async throws -> T {
        guard let threads else { return try work() }
        return try await threads.run(isCancellable: isCancellable, work)
    }

    /// Lets other waiting work run first: for a task that does many short steps on a thread.
    /// - Throws: `CancellationError` when the task was cancelled.
    package func giveWay() async throws {
        try Task.checkCancellation()
        await threads?.giveWay()
    }

    /// Runs work that is slow on purpose, after all waiting work of that kind.
    /// - Throws: ``HTTPError`` 503 when too many wait; what `work` throws.
    func verify<T: Sendable>(_ work: @escaping @Sendable () throws -> T) async throws -> T {
        guard let bounds else { return try work() }
        return try await bounds.passwords.run(work)
    }

    /// Runs work that holds a thread for as long as a tree or a large file takes, after all waiting work of that kind.
    /// - Throws: ``HTTPError`` 503 when too many wait; what `work` throws.
    package func walk<T: Sendable>(_ work: @escaping @Sendable () throws -> T) async throws -> T {
        guard let bounds else { return try work() }
        return try await bounds.walks.run(work)
    }

    /// Runs work that copies `bytes` bytes of a file: if those are many, after all waiting work of that kind.
    ///
    /// It is done though its client may have gone.
    /// - Throws: as ``walk(_:)``.
    package func copying<T: Sendable>(_ bytes: Int64, _ work: @escaping @Sendable () throws -> T) async throws -> T {
        bytes > Self.mostCopiedAtOnce ? try await walk(work) : try await run(isCancellable: false, work)
    }

    /// How many bytes a disk copies in the time of a request: a thousand copies of 8 MiB had everybody wait 17 s.
    package static let mostCopiedAtOnce: Int64 = 256 << 10

    /// Runs work that examines a whole tree before there is anything to send, when a thread can be spared for it.
    /// - Throws: what `work` throws.
    package func look<T: Sendable>(_ work: @escaping @Sendable () throws -> T) async throws -> T {
        guard let bounds else { return try work() }
        return try await bounds.looks.run { try await run(work) }
    }

    /// Takes one of the places for making a digest of a whole file.
    /// - Parameter isKept: whether it is to be stored with the file, which no reader's wish prevents.
    /// - Returns: the place, until it is released; nil in tests.
    /// - Throws: 503 when all are taken.
    func placeForDigest(isKept: Bool) throws(HTTPError) -> Slots.Token? {
        guard let bounds else { return nil }
        guard let place = (isKept ? bounds.checksumPlaces : bounds.digestPlaces).take() else {
            throw HTTPError("Too many checksums are being made at once. Try again in a few seconds.", retryAfter: 5)
        }
        return place
    }

    /// Runs a piece of the work that makes a digest of a file, when a thread can be spared for it: many such files take
    /// turns piece by piece.
    /// - Parameters:
    ///   - ofUpload: whether the file is an upload that is to get its name then: it waits for other uploads only, and is
    ///     not dropped when its task is cancelled before its turn.
    ///   - work: hashes one piece.
    /// - Returns: the result of `work`.
    /// - Throws: what `work` throws; `CancellationError` when it was dropped.
    package func digest<T: Sendable>(ofUpload: Bool, _ work: @escaping @Sendable () throws -> T) async throws -> T {
        guard let bounds else { return try work() }
        return try await (ofUpload ? bounds.uploadDigests : bounds.digests).run(isCancellable: !ofUpload) {
            try await run(isCancellable: !ofUpload, work)
        }
    }

    /// Runs work that searches folders for an equivalent name, when a thread can be spared for it.
    /// - Throws: what `work` throws.
    func spell<T: Sendable>(_ work: @escaping @Sendable () throws -> T) async throws -> T {
        guard let bounds else { return try work() }
        return try await bounds.spellings.run { try await run(work) }
    }
}
