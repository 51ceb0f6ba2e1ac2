import Synchronization

/// Limits the rate of a flow of bytes.
///
/// Whoever has sent or received some waits until those are paid for, behind all that others did before. So however many
/// there are, they keep to the rate together, and take turns.
final class RateBucket: Sendable {
    private let rate: Int64
    /// The most bytes to send or receive in one step: a hundredth of a second's worth, so that however many there are,
    /// the turn of each comes soon; and the same at all times, so that each gets as much as any other.
    let piece: Int
    /// How far ahead of the rate is not worth a timer: less than a piece, or some would go on where others wait.
    private let slack: Duration
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
        piece = Int(clamping: max(4_096, min(rate / 100, 1_048_576)))
        slack = min(.milliseconds(5), Self.cost(of: piece, at: rate) / 2)
        paidUntil = Mutex(clock())
    }

    /// Records bytes that were sent.
    /// - Returns: how long to wait before the next ones; zero for no wait.
    func spend(_ count: Int) -> Duration {
        let cost = min(Self.cost(of: count, at: rate), Self.day)
        let now = clock()
        let ahead = paidUntil.withLock { paidUntil in
            // What timers are late by is made up for.
            paidUntil = max(paidUntil, now - .milliseconds(100)) + cost
            return paidUntil - now
        }
        return ahead > slack ? min(ahead, Self.day) : .zero
    }

    private static func cost(of count: Int, at rate: Int64) -> Duration {
        let (product, overflow) = Int64(count).multipliedReportingOverflow(by: 1_000_000_000)
        return overflow ? .seconds(Int64(count) / rate) : .nanoseconds(product / rate)
    }

    /// The longest that anything costs, and anybody waits.
    private static let day = Duration.seconds(86_400)

    private static let start = ContinuousClock.now
    private static let uptime: @Sendable () -> Duration = { start.duration(to: .now) }
}
