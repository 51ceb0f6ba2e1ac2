import NIOCore

/// The rates that one connection keeps to, in both directions together: its own, and that of all connections.
struct Pace: Sendable {
    private let own: RateBucket?
    private let all: RateBucket?

    init(own: RateBucket?, all: RateBucket?) {
        self.own = own
        self.all = all
    }

    static let unlimited = Pace(own: nil, all: nil)

    var isLimited: Bool { own != nil || all != nil }

    /// The most to send at once.
    var piece: Int { min(own?.piece ?? .max, all?.piece ?? .max) }

    /// Notes bytes that were sent or received.
    /// - Returns: how long to wait before the next ones; zero for not at all.
    func spend(_ count: Int) -> Duration {
        max(own?.spend(count) ?? .zero, all?.spend(count) ?? .zero)
    }

    /// Notes bytes, and waits where they came too early.
    func wait(after count: Int) async throws {
        guard isLimited else { return }
        let wait = spend(count)
        if wait > .zero { try await Task.sleep(for: wait) }
    }
}
