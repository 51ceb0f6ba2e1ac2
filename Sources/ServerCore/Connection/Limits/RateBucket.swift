import Synchronization

/// Limits the rate of a flow of bytes.
///
/// Whoever has sent or received some waits until those are paid for, behind all that others did before. So however many
/// there are, they keep to the rate together, and take turns.
final class RateBucket: Sendable {
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

    /// The most bytes to send in one step: a tenth of a second's worth, so that the flow is even, and less while many
    /// wait, so that the turn of each comes soon.
    var piece: Int {
        let isCrowded = paidUntil.withLock { $0 } - clock() > .seconds(1)
        return Int(clamping: max(4_096, min(rate / (isCrowded ? 1_000 : 10), 1_048_576)))
    }

    /// Records bytes that were sent.
    /// - Returns: how long to wait before the next ones; zero for no wait.
    func spend(_ count: Int) -> Duration {
        let (product, overflow) = Int64(count).multipliedReportingOverflow(by: 1_000_000_000)
        let cost: Duration = overflow ? .seconds(Int64(count) / rate) : .nanoseconds(product / rate)
        let now = clock()
        let ahead = paidUntil.withLock { paidUntil in
            paidUntil = max(paidUntil, now) + min(cost, Self.day)
            return paidUntil - now
        }
        // A tenth of a second ahead of the rate is not worth a timer.
        return ahead > .milliseconds(100) ? min(ahead, Self.day) : .zero
    }

    /// The longest that anything costs, and anybody waits.
    private static let day = Duration.seconds(86_400)

    private static let start = ContinuousClock.now
    private static let uptime: @Sendable () -> Duration = { start.duration(to: .now) }
}
