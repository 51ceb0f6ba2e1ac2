import ServerCore

/// A time as fields of the UTC calendar, for listings and archives.
struct CalendarTime {
    let year: Int64
    let month: Int64
    let day: Int64
    let hour: Int64
    let minute: Int64
    let second: Int64

    /// The fields of `seconds` since 1970.
    init(seconds: Int64) {
        let (days, rest) = seconds.flooredDivision(by: 86_400)
        let date = GregorianCalendar.date(ofDay: days)
        year = Int64(date.year)
        month = Int64(date.month)
        day = Int64(date.day)
        hour = rest / 3600
        minute = rest % 3600 / 60
        second = rest % 60
    }
}

extension TextWriter {
    /// Writes `2026-11-20 23:55`.
    mutating func calendar(_ time: CalendarTime) {
        integer(time.year, width: 4)
        raw("-")
        integer(time.month, width: 2)
        raw("-")
        integer(time.day, width: 2)
        raw(" ")
        integer(time.hour, width: 2)
        raw(":")
        integer(time.minute, width: 2)
    }
}
