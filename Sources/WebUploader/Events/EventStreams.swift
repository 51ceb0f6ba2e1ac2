import Synchronization

/// The open event streams, so that they can be ended with the server.
final class EventStreams: Sendable {
    private struct State {
        var open: [Int: AsyncStream<FolderEvent>.Continuation] = [:]
        var next = 0
        var isOver = false
    }

    private let limit: Int
    private let state = Mutex(State())

    /// Allows at most `limit` at once.
    init(limit: Int) { self.limit = limit }

    /// Registers a stream until it ends.
    /// - Returns: false when there are too many, or the server is ending.
    func add(_ continuation: AsyncStream<FolderEvent>.Continuation) -> Bool {
        state.withLock { state in
            guard !state.isOver, state.open.count < limit else { return false }
            state.next &+= 1
            let number = state.next
            // Before anybody can end it: the handler is not called for a stream that has already ended.
            continuation.onTermination = { [self] _ in self.state.withLock { $0.open[number] = nil } }
            state.open[number] = continuation
            return true
        }
    }

    /// Makes each of them check now whether it may continue.
    func wakeOpen() {
        for continuation in state.withLock({ Array($0.open.values) }) { continuation.yield(.keepAlive) }
    }

    /// Ends all of them.
    func endOpen() {
        for continuation in state.withLock({ Array($0.open.values) }) { continuation.finish() }
    }

    /// Ends all of them, and refuses new ones.
    func end() {
        let open = state.withLock { state in
            state.isOver = true
            return Array(state.open.values)
        }
        for continuation in open { continuation.finish() }
    }
}
