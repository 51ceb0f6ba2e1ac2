import NIOCore
import Synchronization

/// Limits how many tasks hold a thread for long at once, so that most of the pool's threads stay free for others.
///
/// Like ``WorkQueue``, but the work runs in the task that asks for it, and notices its cancellation. How many may wait
/// is limited elsewhere.
final class AsyncSemaphore: Sendable {
    private struct State {
        var free: Int
        var waiting = CircularBuffer<CheckedContinuation<Void, Never>>()
    }

    private let state: Mutex<State>

    /// - Parameter atOnce: how many tasks may run at once.
    init(atOnce: Int) { state = Mutex(State(free: max(1, atOnce))) }

    /// Runs `work` when it is its turn.
    /// - Parameters:
    ///   - isCancellable: false runs it in a cancelled task, too.
    ///   - work: what is to be done.
    /// - Returns: the result of `work`.
    /// - Throws: what `work` throws; `CancellationError` when the task was cancelled before its turn.
    func run<T: Sendable>(
        isCancellable: Bool = true, _ work: @Sendable () async throws -> T
    ) async throws -> T {
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
        if isCancellable { try Task.checkCancellation() }
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
