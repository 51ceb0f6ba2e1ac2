import NIOCore
import Synchronization

/// Work that takes long, a few pieces at a time, so that most of the pool's threads and the memory stay for others.
///
/// What waits here waits without a thread.
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
    ///   - atOnce: pieces that run at a time.
    ///   - longest: pieces that may wait.
    ///   - full: what those are told who find the queue full.
    init(_ pool: PoolThreads, atOnce: Int, longest: Int, full: String) {
        self.pool = pool
        self.atOnce = max(1, atOnce)
        self.longest = longest
        self.full = full
    }

    /// Runs `work` when it is its turn.
    /// - Returns: false when too much waits already; `work` is dropped then.
    func submit(_ work: @escaping @Sendable () -> Void) -> Bool {
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

    /// Runs `work` when it is its turn, and gives what it gives.
    /// - Throws: ``HTTPError`` 503 when too much waits already; what `work` throws.
    func run<T: Sendable>(_ work: @escaping @Sendable () throws -> T) async throws -> T {
        try await withCheckedThrowingContinuation { continuation in
            let isTaken = submit { continuation.resume(with: Result { try work() }) }
            guard !isTaken else { return }
            continuation.resume(throwing: refusal)
        }
    }

    /// What those are told who find the queue full.
    var refusal: HTTPError { HTTPError(.serviceUnavailable, full, fields: ["Retry-After": "2"]) }

    private func begin(_ work: @escaping @Sendable () -> Void) {
        pool.submit {
            work()
            let next = self.state.withLock { state -> (@Sendable () -> Void)? in
                if let next = state.waiting.popFirst() { return next }
                state.running -= 1
                return nil
            }
            // Behind what others gave the pool meanwhile.
            if let next { self.begin(next) }
        }
    }
}
