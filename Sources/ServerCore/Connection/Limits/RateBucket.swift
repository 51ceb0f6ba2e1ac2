import Synchronization

/// Keeps a flow of bytes to a rate: what is spent too early has to be waited for.
final class RateBucket: Sendable {
    private static let longestWait: Duration = .seconds(10)

    private let rate: Int64
    /// The moment up to which all that was spent is paid for, by the clock's own time.
    private let paidUntil: Mutex<Duration>
    private let clock: @Sendable () -> Duration

    /// - Parameters:
    ///   - rate: bytes a second, more than 0.
    ///   - clock: time that never goes back.
    init?(_ rate: Int64?, clock: @escaping @Sendable () -> Duration = RateBucket.uptime) {
        guard let rate, rate > 0 else { return nil }
        self.rate = rate
        self.clock = clock
        paidUntil = Mutex(clock())
    }

    /// The most to send at once: a tenth of a second's worth, so that the flow is even.
    var piece: Int { Int(clamping: max(4_096, min(rate / 10, 1_048_576))) }

    /// Notes bytes that were sent.
    /// - Returns: how long to wait before the next ones; zero for not at all.
    func spend(_ count: Int) -> Duration {
        let (product, overflow) = Int64(count).multipliedReportingOverflow(by: 1_000_000_000)
        // At most a day for one piece: what comes of it is waited for in parts.
        let cost = min(overflow ? .max : product / rate, 86_400_000_000_000)
        let now = clock()
        let ahead = paidUntil.withLock { paidUntil in
            paidUntil = max(paidUntil, now) + .nanoseconds(cost)
            return paidUntil - now
        }
        // A tenth of a second ahead is no debt worth a timer.
        return ahead > .milliseconds(100) ? min(ahead, Self.longestWait) : .zero
    }

    private static let start = ContinuousClock.now
    private static let uptime: @Sendable () -> Duration = { start.duration(to: .now) }
}
