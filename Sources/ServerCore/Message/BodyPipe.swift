import Synchronization

/// Passes a request body from the connection that receives it to the one task that reads it.
///
/// Bounded: an HTTP/1 connection reads from its socket only while ``isWanted``, an HTTP/2 connection opens its windows
/// by ``backlog``; both are told to continue by ``Upstream``.
final class BodyPipe: Sendable {
    /// The connection's side.
    protocol Upstream: AnyObject, Sendable {
        /// The reader waits, or has taken enough: send `100 Continue` if it is owed, and receive more. Called from any
        /// thread.
        func bodyWanted()
    }

    /// How many bytes may wait here before an HTTP/1 connection stops reading.
    static let limit = 256 * 1_024
    /// When only this many bytes are left, the connection is asked for more before the reader has to wait.
    private static let low = 32 * 1_024
    /// Pieces up to this size are appended to the previous one: a piece of its own would take more memory than it
    /// holds.
    private static let crumb = 1_024

    private struct State {
        var chunks: [[UInt8]] = []
        var taken = 0
        var buffered = 0
        var end: Result<Void, HTTPError>?
        var waiter: CheckedContinuation<[UInt8]?, any Error>?
        var upstream: (any Upstream)?
        var isHungry = false
        /// Whether the reader has waited for its first turn within the rate limits.
        var hadTurn = false
    }

    private let state: Mutex<State>
    /// The rate limits for the reader.
    let pace: Pace
    /// The memory for bodies that are collected as a whole.
    let memory: ByteBudget?
    /// The memory for names in forms.
    let formNames: ByteBudget?
    /// The memory for what waits in pipes.
    private let waiting: SoftByteBudget?

    init(
        upstream: any Upstream, pace: Pace = .unlimited, memory: ByteBudget? = nil, formNames: ByteBudget? = nil,
        waiting: SoftByteBudget? = nil
    ) {
        self.pace = pace
        self.memory = memory
        self.formNames = formNames
        self.waiting = waiting
        var state = State()
        state.upstream = upstream
        self.state = Mutex(state)
    }

    /// A body that is already in memory.
    init(whole bytes: [UInt8]) {
        pace = .unlimited
        memory = nil
        formNames = nil
        waiting = nil
        var state = State()
        state.chunks = [bytes]
        state.buffered = bytes.count
        state.end = .success(())
        self.state = Mutex(state)
    }

    deinit { waiting?.give(state.withLock { $0.buffered }) }

    /// Whether the reader has asked for more than was available, so that reading may continue.
    ///
    /// While many bytes wait for other readers, this one gets no more before it has taken everything and asks again.
    var isWanted: Bool {
        let limit = waiting?.isCrowded == true ? 1 : Self.limit
        return state.withLock { $0.isHungry && $0.buffered < limit }
    }

    /// Whether the reader is waiting now.
    var isAwaited: Bool { state.withLock { $0.waiter != nil } }

    /// The number of bytes that wait here; nil while the reader has not asked for more than was available.
    var backlog: Int? { state.withLock { $0.isHungry ? $0.buffered : nil } }

    /// Whether `count` more bytes are too many, when all bodies together have used up their memory.
    func isExcess(_ count: Int) -> Bool {
        waiting?.isFull == true && state.withLock { $0.buffered + count > SoftByteBudget.uncounted }
    }

    /// Passes bytes to the reader.
    func push(_ bytes: [UInt8]) {
        guard !bytes.isEmpty else { return }
        let waiter = state.withLock { state -> CheckedContinuation<[UInt8]?, any Error>? in
            guard state.end == nil else { return nil }
            if let waiter = state.waiter.take() { return waiter }
            if let last = state.chunks.indices.last, bytes.count <= Self.crumb, state.chunks[last].count <= Self.low {
                state.chunks[last] += bytes
            } else {
                state.chunks.append(bytes)
            }
            state.buffered += bytes.count
            waiting?.hold(bytes.count)
            return nil
        }
        waiter?.resume(returning: bytes)
    }

    /// Ends the body: it is complete, or will never be.
    ///
    /// Only the first call counts.
    func finish(_ end: Result<Void, HTTPError>) {
        let waiter = state.withLock { state -> CheckedContinuation<[UInt8]?, any Error>? in
            guard state.end == nil else { return nil }
            state.end = end
            state.upstream = nil
            return state.waiter.take()
        }
        switch end {
        case .success: waiter?.resume(returning: nil)
        case .failure(let error): waiter?.resume(throwing: error)
        }
    }

    /// Whether the end was reached and nothing waits here.
    var isOver: Bool {
        state.withLock { state in
            guard case .success = state.end else { return false }
            return state.taken == state.chunks.count
        }
    }

    /// The whole body, if it is here in one piece and no rate limit applies.
    var atHand: [UInt8]? {
        guard !pace.isLimited else { return nil }
        return state.withLock { state in
            guard case .success = state.end, state.taken == 0, state.chunks.count == 1 else { return nil }
            return state.chunks[0]
        }
    }

    /// The connection that fills this pipe; nil when the whole body is here.
    var upstream: (any Upstream)? { state.withLock { $0.upstream } }

    /// Bytes that are available now; nil when there are none, or at the end.
    func takeReady() throws -> [UInt8]? {
        let (found, upstream) = state.withLock { take(from: &$0) }
        upstream?.bodyWanted()
        guard let bytes = try found?.get(), !bytes.isEmpty else { return nil }
        return bytes
    }

    /// The next bytes, within the connection's rate limits; nil at the end of a complete body.
    func next() async throws -> [UInt8]? {
        try await takeFirstTurn()
        let bytes = try await nextAtOnce()
        if let bytes { try await pay(for: bytes.count) }
        return bytes
    }

    /// Waits until what others have sent and received before is paid for: many new bodies would otherwise have all wait
    /// for theirs.
    ///
    /// To be called before anything is read; waits the first time only.
    func takeFirstTurn() async throws {
        guard pace.isLimited else { return }
        let hadTurn = state.withLock { state in
            defer { state.hadTurn = true }
            return state.hadTurn
        }
        if !hadTurn { try await pay(for: 0) }
    }

    /// Waits until bytes that were read are paid for, within the connection's rate limits; after the last ones there is
    /// nothing that could wait.
    /// - Throws: why the body will never be complete, as soon as that is known: such a body has no turn.
    func pay(for count: Int) async throws {
        guard pace.isLimited else { return }
        await pace.wait(after: count, isLast: count > 0 && isOver) { (try? checkRest()) == nil }
        try checkRest()
    }

    /// Throws if the rest of the body will never come, or nobody wants it.
    private func checkRest() throws {
        switch state.withLock(\.end) {
        case .failure(let error): throw error
        // Its client may go once it has sent everything, while there is room for what nobody waits for.
        case .success: if Task.isCancelled, pace.isCrowded { throw CancellationError() }
        case nil: try Task.checkCancellation()
        }
    }

    private func nextAtOnce() async throws -> [UInt8]? {
        if let bytes = try takeNow() { return bytes.isEmpty ? nil : bytes }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                wait(with: continuation)
            }
        } onCancel: {
            let waiter = state.withLock { $0.waiter.take() }
            waiter?.resume(throwing: CancellationError())
        }
    }

    /// What is available without waiting: some bytes, an empty array at the end, nil when the reader must wait.
    private func takeNow() throws -> [UInt8]? {
        let (found, upstream) = state.withLock { take(from: &$0) }
        upstream?.bodyWanted()
        return try found?.get()
    }

    private func take(from state: inout State) -> (Result<[UInt8], HTTPError>?, (any Upstream)?) {
        if state.taken < state.chunks.count {
            let bytes = state.chunks[state.taken]
            state.chunks[state.taken] = []
            state.taken += 1
            if state.taken == state.chunks.count {
                state.chunks.removeAll(keepingCapacity: true)
                state.taken = 0
            } else if state.taken >= 256 {
                // The array might never become empty otherwise.
                state.chunks.removeFirst(state.taken)
                state.taken = 0
            }
            let before = state.buffered
            state.buffered -= bytes.count
            waiting?.give(bytes.count)
            // Whether this takes it below either mark.
            let mark = before >= Self.limit ? Self.limit : Self.low
            let resumes = before >= mark && state.buffered < mark && state.end == nil
            return (.success(bytes), resumes ? state.upstream : nil)
        }
        switch state.end {
        case .success: return (.success([]), nil)
        case .failure(let error): return (.failure(error), nil)
        case nil: return (nil, nil)
        }
    }

    private func wait(with continuation: CheckedContinuation<[UInt8]?, any Error>) {
        enum Outcome {
            case now(Result<[UInt8], HTTPError>, (any Upstream)?)
            case later((any Upstream)?)
            case cancelled
        }
        let outcome = state.withLock { state -> Outcome in
            let (found, upstream) = take(from: &state)
            if let found { return .now(found, upstream) }
            // Checked under the lock: a later cancellation finds the waiter.
            if Task.isCancelled { return .cancelled }
            state.waiter = continuation
            state.isHungry = true
            return .later(state.upstream)
        }
        switch outcome {
        case .now(.success(let bytes), let upstream):
            continuation.resume(returning: bytes.isEmpty ? nil : bytes)
            upstream?.bodyWanted()
        case .now(.failure(let error), _): continuation.resume(throwing: error)
        case .later(let upstream): upstream?.bodyWanted()
        case .cancelled: continuation.resume(throwing: CancellationError())
        }
    }
}
