/// A time as people write it: whole seconds, or a number with one of the units s, m, h, d, w.
struct TimeSpan {
    let duration: Duration

    /// Nil for anything else, and for more than 100 years.
    init?(_ text: String) {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        let unit: Int64
        switch text.dropFirst(digits.count).drop(while: { $0 == " " }).lowercased() {
        case "", "s", "sec", "second", "seconds": unit = 1
        case "m", "min", "minute", "minutes": unit = 60
        case "h", "hour", "hours": unit = 3_600
        case "d", "day", "days": unit = 86_400
        case "w", "week", "weeks": unit = 604_800
        default: return nil
        }
        guard let number = Int64(digits) else { return nil }
        let (seconds, overflow) = number.multipliedReportingOverflow(by: unit)
        guard !overflow, seconds <= 3_155_760_000 else { return nil }
        duration = .seconds(seconds)
    }
}
