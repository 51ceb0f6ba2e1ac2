/// The current second of a log, in both formats that its lines use: computed once for all lines of a second.
struct LogClock {
    private var second: Int64 = -1
    /// As in `2026-11-21T00:12:33`.
    private(set) var stamp: [UInt8] = []
    /// As in `21/Nov/2026:00:12:33 +0000`.
    private(set) var common: [UInt8] = []

    mutating func turn(to second: Int64) {
        guard second != self.second else { return }
        self.second = second
        let (day, time) = second.flooredDivision(by: 86_400)
        let date = GregorianCalendar.date(ofDay: day)
        let rest = Int(time)
        let clock = "\(Self.two(rest / 3600)):\(Self.two(rest / 60 % 60)):\(Self.two(rest % 60))"
        let month = String("\(GregorianCalendar.monthNames)".dropFirst(date.month * 3 - 3).prefix(3))
        stamp = Array("\(date.year)-\(Self.two(date.month))-\(Self.two(date.day))T\(clock)".utf8)
        common = Array("\(Self.two(date.day))/\(month)/\(date.year):\(clock) +0000".utf8)
    }

    private static func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
}
