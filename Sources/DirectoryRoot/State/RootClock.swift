import CSyscalls

/// The two clocks that state lives by, passed in so that tests can turn them.
public struct RootClock: Sendable {
    /// The time of day: what is written into files, and what survives a restart.
    ///
    /// May be set back or forward.
    public var wall: @Sendable () -> Timestamp
    /// Time that only moves forward, from an unknown start: what a running process counts by.
    public var uptime: @Sendable () -> Duration

    /// Joins two clocks.
    public init(wall: @escaping @Sendable () -> Timestamp, uptime: @escaping @Sendable () -> Duration) {
        self.wall = wall
        self.uptime = uptime
    }

    /// The system's own clocks.
    public static let system = RootClock(
        wall: { .now },
        uptime: { .milliseconds(sys_coarse_milliseconds()) })
}

extension Timestamp {
    /// The time of day.
    package static var now: Timestamp {
        var seconds: Int64 = 0
        var nanoseconds: Int32 = 0
        unsafe sys_now(&seconds, &nanoseconds)
        return Timestamp(seconds: seconds, nanoseconds: nanoseconds)
    }

    /// This moment and `duration` more, held at the ends of what 64 bits can say.
    package func advanced(by duration: Duration) -> Timestamp {
        let (whole, fraction) = duration.components
        var nanoseconds = Int64(self.nanoseconds) + fraction / 1_000_000_000
        var (seconds, overflow) = self.seconds.addingReportingOverflow(whole)
        if overflow { seconds = whole > 0 ? .max - 1 : .min + 1 }
        if nanoseconds < 0 {
            nanoseconds += 1_000_000_000
            seconds = seconds == .min ? seconds : seconds - 1
        } else if nanoseconds >= 1_000_000_000 {
            nanoseconds -= 1_000_000_000
            seconds = seconds == .max ? seconds : seconds + 1
        }
        return Timestamp(seconds: seconds, nanoseconds: Int32(truncatingIfNeeded: nanoseconds))
    }

    /// How long after `earlier` this moment is; negative when it is before.
    package func since(_ earlier: Timestamp) -> Duration {
        let (seconds, overflow) = self.seconds.subtractingReportingOverflow(earlier.seconds)
        if overflow { return self < earlier ? .seconds(Int64.min / 4) : .seconds(Int64.max / 4) }
        return .seconds(seconds) + .nanoseconds(Int64(nanoseconds) - Int64(earlier.nanoseconds))
    }
}
