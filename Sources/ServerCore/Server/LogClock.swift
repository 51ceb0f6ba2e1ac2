/// The second that a log has reached, in both forms that its lines have it in: worked out once for all lines of a
/// second.
struct LogClock {
    private var second: Int64 = -1
    /// As in `2026-11-21T00:12:33`.
    private(set) var stamp: [UInt8] = []
    /// As in `21/Nov/2026:00:12:33 +0000`.
    private(set) var common: [UInt8] = []

    mutating func turn(to second: Int64) {
        guard second != self.second else { return }
        self.second = second
        let date = Self.civil(second)
        let names = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        stamp = Array("\(date.year)-\(Self.two(date.month))-\(Self.two(date.day))T\(date.clock)".utf8)
        common = Array("\(Self.two(date.day))/\(names[date.month - 1])/\(date.year):\(date.clock) +0000".utf8)
    }

    private static func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }

    private static func civil(_ seconds: Int64) -> (year: Int, month: Int, day: Int, clock: String) {
        let days = Int(seconds / 86_400)
        let rest = Int(seconds % 86_400)
        // Howard Hinnant's civil_from_days.
        let z = days + 719_468
        let era = z / 146_097
        let doe = z - era * 146_097
        let yoe = (doe - doe / 1_460 + doe / 36_524 - doe / 146_096) / 365
        let doy = doe - (365 * yoe + yoe / 4 - yoe / 100)
        let mp = (5 * doy + 2) / 153
        let month = mp < 10 ? mp + 3 : mp - 9
        let year = yoe + era * 400 + (month <= 2 ? 1 : 0)
        let clock = "\(two(rest / 3_600)):\(two(rest / 60 % 60)):\(two(rest % 60))"
        return (year, month, doy - (153 * mp + 2) / 5 + 1, clock)
    }
}
