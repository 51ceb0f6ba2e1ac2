import Synchronization

/// Limits the rate of a flow of bytes: whoever is ahead of it has to wait.
final class RateBucket: Sendable {
    private static let longestWait: Duration = .seconds(10)

    private let rate: Int64
    /// The time up to which everything recorded is paid for, by `clock`.
    private let paidUntil: Mutex<Duration>
    private let clock: @Sendable () -> Duration

    /// - Parameters:
    ///   - rate: bytes per second, more than 0.
    ///   - clock: a time that never goes back.
    init?(_ rate: Int64?, clock: @escaping @Sendable () -> Duration = RateBucket.uptime) {
        guard let rate, rate > 0 else { return nil }
        self.rate = rate
        self.clock = clock
        paidUntil = Mutex(clock())
    }

    /// The most bytes to send in one step: a tenth of a second's worth, so that the flow is even.
    var piece: Int { Int(clamping: max(4_096, min(rate / 10, 1_048_576))) }

    /// Records bytes that were sent.
    /// - Returns: how long to wait before the next ones; zero for no wait.
    func spend(_ count: Int) -> Duration {
        let (product, overflow) = Int64(count).multipliedReportingOverflow(by: 1_000_000_000)
        // At most a day for one piece: the resulting wait is divided into parts.
        let cost = min(overflow ? .max : product / rate, 86_400_000_000_000)
        let now = clock()
        let ahead = paidUntil.withLock { paidUntil in
            paidUntil = max(paidUntil, now) + .nanoseconds(cost)
            return paidUntil - now
        }
        // A tenth of a second ahead of the rate is not worth a timer.
        return ahead > .milliseconds(100) ? min(ahead, Self.longestWait) : .zero
    }

    private static let start = ContinuousClock.now
    private static let uptime: @Sendable () -> Duration = { start.duration(to: .now) }
}
