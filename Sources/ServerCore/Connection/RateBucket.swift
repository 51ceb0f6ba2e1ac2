import Synchronization

/// Keeps a flow of bytes to a rate: what is spent too early has to be waited for.
final class RateBucket: Sendable {
    private let rate: Int64
    private let state: Mutex<(debt: Int64, at: ContinuousClock.Instant)>

    /// - Parameter rate: bytes a second, more than 0.
    init?(_ rate: Int64?) {
        guard let rate, rate > 0 else { return nil }
        self.rate = rate
        state = Mutex((0, .now))
    }

    /// The most to send at once: a tenth of a second's worth, so that the flow is even.
    var piece: Int { Int(clamping: max(4_096, min(rate / 10, 1_048_576))) }

    /// Notes bytes that were sent.
    /// - Returns: how long to wait before the next ones; zero for not at all.
    func spend(_ count: Int) -> Duration {
        state.withLock { state in
            let now = ContinuousClock.now
            let passed = state.at.duration(to: now).components
            state.at = now
            let seconds = min(passed.seconds, 3_600)
            let (whole, overflow) = rate.multipliedReportingOverflow(by: seconds)
            let paid = overflow ? Int64.max : whole &+ rate / 1_000 * (passed.attoseconds / 1_000_000_000_000_000)
            state.debt = max(0, state.debt - max(0, paid))
            let (debt, tooMuch) = state.debt.addingReportingOverflow(Int64(count))
            state.debt = tooMuch ? .max : debt
            // A tenth of a second ahead is no debt worth a timer.
            guard state.debt > rate / 10 else { return .zero }
            let milliseconds = min(state.debt / max(1, rate / 1_000), 10_000)
            return .milliseconds(milliseconds)
        }
    }
}
