import Synchronization

/// The server's statistics.
final class Counters: Sendable {
    private let requestCount = Atomic<Int>(0)
    private let receivedCount = Atomic<Int>(0)
    private let sentCount = Atomic<Int>(0)
    private let connectionCount = Atomic<Int>(0)
    private let openCount = Atomic<Int>(0)
    private let successes = Atomic<Int>(0)
    private let redirections = Atomic<Int>(0)
    private let clientErrors = Atomic<Int>(0)
    private let serverErrors = Atomic<Int>(0)

    init() {}

    func request() { requestCount.wrappingAdd(1, ordering: .relaxed) }

    func received(_ bytes: Int) { receivedCount.wrappingAdd(bytes, ordering: .relaxed) }

    func sent(_ bytes: Int) { sentCount.wrappingAdd(bytes, ordering: .relaxed) }

    func opened() {
        connectionCount.wrappingAdd(1, ordering: .relaxed)
        openCount.wrappingAdd(1, ordering: .relaxed)
    }

    /// Counts a connection in its TLS handshake: open, but not accepted yet.
    func greeting() { openCount.wrappingAdd(1, ordering: .relaxed) }

    func closed() { openCount.wrappingSubtract(1, ordering: .relaxed) }

    func answered(_ status: Int) {
        switch status {
        case ..<300: successes.wrappingAdd(1, ordering: .relaxed)
        case ..<400: redirections.wrappingAdd(1, ordering: .relaxed)
        case ..<500: clientErrors.wrappingAdd(1, ordering: .relaxed)
        default: serverErrors.wrappingAdd(1, ordering: .relaxed)
        }
    }

    var requests: Int { requestCount.load(ordering: .relaxed) }
    var bytesReceived: Int { receivedCount.load(ordering: .relaxed) }
    var bytesSent: Int { sentCount.load(ordering: .relaxed) }
    var connections: Int { connectionCount.load(ordering: .relaxed) }
    var openConnections: Int { openCount.load(ordering: .relaxed) }
    /// The number of responses by class, from 2xx on.
    var responses: [Int] {
        [
            successes.load(ordering: .relaxed), redirections.load(ordering: .relaxed),
            clientErrors.load(ordering: .relaxed), serverErrors.load(ordering: .relaxed),
        ]
    }
}
