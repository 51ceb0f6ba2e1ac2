import CSyscalls

/// The two clocks that state depends on, passed in so that tests can set them.
public struct RootClock: Sendable {
    /// The time of day: it is written into files, and survives a restart.
    ///
    /// May be set back or forward.
    public var wall: @Sendable () -> Timestamp
    /// Time that only moves forward, from an unknown start: a running process counts by it.
    public var uptime: @Sendable () -> Duration
    /// The same, and goes on while the machine sleeps: where the time of day has moved by anything else, it was set.
    public var elapsed: @Sendable () -> Duration

    /// Joins two clocks; for ``elapsed`` it is ``uptime`` on a machine that never sleeps.
    public init(
        wall: @escaping @Sendable () -> Timestamp, uptime: @escaping @Sendable () -> Duration,
        elapsed: (@Sendable () -> Duration)? = nil
    ) {
        self.wall = wall
        self.uptime = uptime
        self.elapsed = elapsed ?? uptime
    }

    /// The system's own clocks.
    public static let system = RootClock(
        wall: { .now },
        uptime: { .milliseconds(sys_coarse_milliseconds()) },
        elapsed: { start.duration(to: .now) })

    private static let start = ContinuousClock.now
}
