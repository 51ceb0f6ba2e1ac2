import CSyscalls

/// The two clocks that state depends on, passed in so that tests can set them.
public struct RootClock: Sendable {
    /// The time of day: it is written into files, and survives a restart.
    ///
    /// May be set back or forward.
    public var wall: @Sendable () -> Timestamp
    /// Time that only moves forward, from an unknown start: a running process counts by it.
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
