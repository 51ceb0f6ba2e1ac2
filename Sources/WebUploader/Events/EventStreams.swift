import Synchronization

/// The event streams that are open, so that the end of the server ends them.
final class EventStreams: Sendable {
    private struct State {
        var open: [Int: AsyncStream<FolderEvent>.Continuation] = [:]
        var next = 0
        var isOver = false
    }

    private let limit: Int
    private let state = Mutex(State())

    /// At most `limit` at once.
    init(limit: Int) { self.limit = limit }

    /// Keeps a stream until it ends.
    /// - Returns: false when there are too many, or the server ends.
    func add(_ continuation: AsyncStream<FolderEvent>.Continuation) -> Bool {
        state.withLock { state in
            guard !state.isOver, state.open.count < limit else { return false }
            state.next &+= 1
            let number = state.next
            // Before anybody can end it: of one that has ended, nobody would be told.
            continuation.onTermination = { [self] _ in self.state.withLock { $0.open[number] = nil } }
            state.open[number] = continuation
            return true
        }
    }

    /// Has each of them look at once whether it may go on.
    func wakeOpen() {
        for continuation in state.withLock({ Array($0.open.values) }) { continuation.yield(.keepAlive) }
    }

    /// Ends all of them.
    func endOpen() {
        for continuation in state.withLock({ Array($0.open.values) }) { continuation.finish() }
    }

    /// Ends all of them, and lets no new one begin.
    func end() {
        let open = state.withLock { state in
            state.isOver = true
            return Array(state.open.values)
        }
        for continuation in open { continuation.finish() }
    }
}
