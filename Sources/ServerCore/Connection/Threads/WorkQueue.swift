import NIOCore
import Synchronization

/// A queue for work that takes long, of which a few pieces run at once, so that most of the pool's threads and the
/// memory stay free for others.
///
/// Work that waits here takes no thread.
final class WorkQueue: Sendable {
    private struct State {
        var running = 0
        var waiting = CircularBuffer<@Sendable () -> Void>()
    }

    private let pool: PoolThreads
    private let atOnce: Int
    private let longest: Int
    private let full: String
    private let state = Mutex(State())

    /// An empty queue.
    /// - Parameters:
    ///   - pool: runs the work.
    ///   - atOnce: how many pieces may run at once.
    ///   - longest: how many pieces may wait.
    ///   - full: the message of the refusal when the queue is full.
    init(_ pool: PoolThreads, atOnce: Int, longest: Int, full: String) {
        self.pool = pool
        self.atOnce = max(1, atOnce)
        self.longest = longest
        self.full = full
    }

    /// Runs `work` when it is its turn.
    /// - Returns: false when too much is waiting already, or there is no thread; `work` is dropped then.
    func submit(_ work: @escaping @Sendable () -> Void) -> Bool {
        guard pool.begin() else { return false }
        let (isTaken, isNow) = state.withLock { state in
            if state.running < atOnce {
                state.running += 1
                return (true, true)
            }
            guard state.waiting.count < longest else { return (false, false) }
            state.waiting.append(work)
            return (true, false)
        }
        if isNow { begin(work) }
        return isTaken
    }

    /// Runs `work` when it is its turn, and returns its result.
    /// - Throws: ``HTTPError`` 503 when too much is waiting already; what `work` throws.
    func run<T: Sendable>(_ work: @escaping @Sendable () throws -> T) async throws -> T {
        try await withCheckedThrowingContinuation { continuation in
            let isTaken = submit { continuation.resume(with: Result { try work() }) }
            guard !isTaken else { return }
            continuation.resume(throwing: refusal)
        }
    }

    /// The error when the queue is full.
    var refusal: HTTPError { HTTPError(full, retryAfter: 2) }

    private func begin(_ work: @escaping @Sendable () -> Void) {
        pool.submit {
            work()
            let next = self.state.withLock { state -> (@Sendable () -> Void)? in
                if let next = state.waiting.popFirst() { return next }
                state.running -= 1
                return nil
            }
            // After what others submitted to the pool meanwhile.
            if let next { self.begin(next) }
        }
    }
}
