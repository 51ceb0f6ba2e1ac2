import Synchronization

/// The open event streams, so that they can be ended with a server.
final class EventStreams: Sendable {
    private struct State {
        var open: [Int: (events: AsyncStream<FolderEvent>.Continuation, network: String)] = [:]
        var next = 0
        /// How many servers run.
        var servers = 0
        var isOver = false
    }

    private let limit: Int
    private let state = Mutex(State())

    /// Allows at most `limit` at once.
    init(limit: Int) { self.limit = limit }

    /// Registers a stream until it ends.
    /// - Parameters:
    ///   - continuation: of the stream.
    ///   - network: its client's, as in `Request.network`.
    /// - Returns: false when there are too many, or that network would have more than are left for others, or the server
    ///   is ending.
    func add(_ continuation: AsyncStream<FolderEvent>.Continuation, from network: String) -> Bool {
        state.withLock { state in
            // The first of each network finds a place as long as there is any.
            let own = state.open.values.count { $0.network == network }
            let left = limit - state.open.count
            guard !state.isOver, left > 0, own <= left else { return false }
            state.next &+= 1
            let number = state.next
            // Before anybody can end it: the handler is not called for a stream that has already ended.
            continuation.onTermination = { [self] _ in self.state.withLock { $0.open[number] = nil } }
            state.open[number] = (continuation, network)
            return true
        }
    }

    /// Makes each of them check now whether it may continue.
    func wakeOpen() {
        for stream in state.withLock({ Array($0.open.values) }) { stream.events.yield(.keepAlive) }
    }

    /// Ends all of them.
    func endOpen() {
        for stream in state.withLock({ Array($0.open.values) }) { stream.events.finish() }
    }

    /// Allows streams again: a server begins.
    func begin() {
        state.withLock { state in
            state.servers += 1
            state.isOver = false
        }
    }

    /// Ends all of them, since a server ends; refuses new ones if no other server runs.
    ///
    /// It is not known which server's they are; clients of another one begin new ones.
    func end() {
        let open = state.withLock { state in
            state.servers = max(0, state.servers - 1)
            state.isOver = state.servers == 0
            return Array(state.open.values)
        }
        for stream in open { stream.events.finish() }
    }
}
