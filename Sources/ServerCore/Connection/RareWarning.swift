import CSyscalls
import Logging
import Synchronization

/// A warning that is logged once a minute at most, however often there is reason for it.
final class RareWarning: Sendable {
    private static let pause: Int64 = 60_000
    /// When it may be logged again, by `sys_coarse_milliseconds`.
    private let next = Atomic<Int64>(.min)

    func log(_ message: Logger.Message, to logger: Logger, metadata: Logger.Metadata? = nil) {
        let now = sys_coarse_milliseconds()
        let next = next.load(ordering: .relaxed)
        guard now >= next,
            self.next.compareExchange(expected: next, desired: now + Self.pause, ordering: .relaxed).exchanged
        else { return }
        logger.warning(message, metadata: metadata)
    }
}
