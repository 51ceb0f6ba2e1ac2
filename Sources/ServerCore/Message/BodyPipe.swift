import Synchronization

/// A request body on its way from the connection that receives it to the one task that reads it.
///
/// Bounded: the connection of HTTP/1 reads from its socket only while ``isWanted``, one of HTTP/2 opens its windows by
/// ``backlog``; both are asked to go on by ``Upstream``.
final class BodyPipe: Sendable {
    /// The connection's side.
    protocol Upstream: AnyObject, Sendable {
        /// The reader waits, or has made room: send `100 Continue` if it is owed, and read on. From any thread.
        func bodyWanted()
    }

    /// Bytes that may wait here before a connection of HTTP/1 stops reading.
    static let limit = 256 * 1_024
    /// With so few left, the connection is asked for more, though the reader does not wait yet.
    private static let low = 32 * 1_024
    /// Pieces up to this become part of the one before them: each by itself would take more than it holds.
    private static let crumb = 1_024

    private struct State {
        var chunks: [[UInt8]] = []
        var taken = 0
        var buffered = 0
        var end: Result<Void, HTTPError>?
        var waiter: CheckedContinuation<[UInt8]?, any Error>?
        var upstream: (any Upstream)?
        var isHungry = false
    }

    private let state: Mutex<State>
    /// What the reader keeps to.
    let pace: Pace
    /// What those who collect the whole body count in.
    let memory: ByteBudget?
    /// What those count in who keep names out of the body.
    let formNames: ByteBudget?
    /// Where what waits here is counted.
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

    /// A body that is at hand.
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

    /// Whether the reader has asked for more than there was: reading may go on.
    ///
    /// Where much waits for other readers, this one gets no more before it has taken all; then it asks again.
    var isWanted: Bool {
        let limit = waiting?.isCrowded == true ? 1 : Self.limit
        return state.withLock { $0.isHungry && $0.buffered < limit }
    }

    /// Whether the reader waits now.
    var isAwaited: Bool { state.withLock { $0.waiter != nil } }

    /// Bytes that wait here; nil while the reader has not asked for more than there was.
    var backlog: Int? { state.withLock { $0.isHungry ? $0.buffered : nil } }

    /// Whether `count` bytes more are too many, where all bodies together have filled what there is for them.
    func isExcess(_ count: Int) -> Bool {
        waiting?.isFull == true && state.withLock { $0.buffered + count > SoftByteBudget.uncounted }
    }

    /// Gives the reader some bytes.
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

    /// The body is whole, or will never be.
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

    /// All the bytes, where they are here in one piece and need no pacing.
    var atHand: [UInt8]? {
        guard !pace.isLimited else { return nil }
        return state.withLock { state in
            guard case .success = state.end, state.taken == 0, state.chunks.count == 1 else { return nil }
            return state.chunks[0]
        }
    }

    /// The connection that fills this; nil when the body is here.
    var upstream: (any Upstream)? { state.withLock { $0.upstream } }

    /// Bytes that are here already; nil when there are none, or at the end.
    func takeReady() throws -> [UInt8]? {
        let (found, upstream) = state.withLock { take(from: &$0) }
        upstream?.bodyWanted()
        guard let bytes = try found?.get(), !bytes.isEmpty else { return nil }
        return bytes
    }

    /// The next bytes, no faster than the connection's rates allow; nil at the end of a whole body.
    func next() async throws -> [UInt8]? {
        let bytes = try await nextAtOnce()
        if let bytes { try await pace.wait(after: bytes.count) }
        return bytes
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

    /// What is there without waiting: some bytes, an empty array at the end, nil when the reader must wait.
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
                // It may never be empty.
                state.chunks.removeFirst(state.taken)
                state.taken = 0
            }
            let before = state.buffered
            state.buffered -= bytes.count
            waiting?.give(bytes.count)
            // Falls below either mark.
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
            // Asked under the lock: a cancellation after this finds the waiter.
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
