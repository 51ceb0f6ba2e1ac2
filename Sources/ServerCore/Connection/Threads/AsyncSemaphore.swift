import NIOCore
import Synchronization

/// Lets few tasks at a time hold a thread for long, so that most of the pool's threads stay for others.
///
/// As ``WorkQueue``, but the work goes on in the task that asks for it, and hears when that is cancelled. How many
/// may wait is bounded elsewhere.
final class AsyncSemaphore: Sendable {
    private struct State {
        var free: Int
        var waiting = CircularBuffer<CheckedContinuation<Void, Never>>()
    }

    private let state: Mutex<State>

    /// - Parameter atOnce: tasks that have their turn at a time.
    init(atOnce: Int) { state = Mutex(State(free: max(1, atOnce))) }

    /// Runs `work` when it is its turn.
    /// - Throws: what `work` throws; `CancellationError` when nobody waits for it any more.
    func run<T: Sendable>(_ work: @Sendable () async throws -> T) async throws -> T {
        await withCheckedContinuation { continuation in
            let isNow = state.withLock { state in
                guard state.free == 0 else {
                    state.free -= 1
                    return true
                }
                state.waiting.append(continuation)
                return false
            }
            if isNow { continuation.resume() }
        }
        defer { end() }
        try Task.checkCancellation()
        return try await work()
    }

    private func end() {
        let next = state.withLock { state in
            let next = state.waiting.popFirst()
            if next == nil { state.free += 1 }
            return next
        }
        next?.resume()
    }
}
