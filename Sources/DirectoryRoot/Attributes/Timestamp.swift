import CSyscalls

/// A point in time as file systems keep it.
public struct Timestamp: Hashable, Comparable, Sendable {
    /// Seconds since 1970-01-01T00:00:00Z.
    public var seconds: Int64
    /// 0 ..< 1,000,000,000.
    public var nanoseconds: Int32

    /// A point in time from its two parts.
    public init(seconds: Int64, nanoseconds: Int32 = 0) {
        self.seconds = seconds
        self.nanoseconds = nanoseconds
    }

    /// Whether `a` is earlier.
    public static func < (a: Timestamp, b: Timestamp) -> Bool {
        (a.seconds, a.nanoseconds) < (b.seconds, b.nanoseconds)
    }

    /// Whether this may be `exact` as rounded by a file system with coarser timestamps.
    func mayBe(_ exact: Timestamp) -> Bool {
        guard seconds == exact.seconds else {
            return nanoseconds == 0 && seconds & 1 == 0 && seconds == exact.seconds &- 1
        }
        // Granularity of 1 ns, of 100 ns (NTFS and SMB), 1 µs (UDF), 10 ms (exFAT) and 1 s.
        return [1, 100, 1_000, 10_000_000, 1_000_000_000].contains { nanoseconds == exact.nanoseconds / $0 * $0 }
    }

    /// The time of day.
    package static var now: Timestamp {
        var seconds: Int64 = 0
        var nanoseconds: Int32 = 0
        unsafe sys_now(&seconds, &nanoseconds)
        return Timestamp(seconds: seconds, nanoseconds: nanoseconds)
    }

    /// This moment plus `duration`, clamped to what 64 bits can hold.
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

    /// How long after `earlier` this moment is; negative when it is earlier.
    package func since(_ earlier: Timestamp) -> Duration {
        let (seconds, overflow) = self.seconds.subtractingReportingOverflow(earlier.seconds)
        if overflow { return self < earlier ? .seconds(Int64.min / 4) : .seconds(Int64.max / 4) }
        return .seconds(seconds) + .nanoseconds(Int64(nanoseconds) - Int64(earlier.nanoseconds))
    }
}
