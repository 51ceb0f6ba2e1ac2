import NIOCore

/// The rate limits of one connection, for both directions together: its own, and that of all connections.
struct Pace: Sendable {
    private let own: RateBucket?
    private let all: RateBucket?

    init(own: RateBucket?, all: RateBucket?) {
        self.own = own
        self.all = all
    }

    static let unlimited = Pace(own: nil, all: nil)

    var isLimited: Bool { own != nil || all != nil }

    /// The most bytes to send in one step.
    var piece: Int { min(own?.piece ?? .max, all?.piece ?? .max) }

    /// Records bytes that were sent or received.
    /// - Returns: how long to wait before the next ones; zero for no wait.
    func spend(_ count: Int) -> Duration {
        max(own?.spend(count) ?? .zero, all?.spend(count) ?? .zero)
    }

    /// Records bytes, and waits if they were ahead of a rate limit.
    func wait(after count: Int) async throws {
        guard isLimited else { return }
        let wait = spend(count)
        if wait > .zero { try await Task.sleep(for: wait) }
    }
}
