/// A moment as the fields of a UTC calendar, for listings and archives.
struct CalendarTime {
    let year: Int64
    let month: Int64
    let day: Int64
    let hour: Int64
    let minute: Int64
    let second: Int64

    /// The fields of `seconds` since 1970, by the proleptic Gregorian calendar.
    ///
    /// A time more than about 190 million years away is moved to that edge.
    init(seconds: Int64) {
        let bounded = min(max(seconds, -6_000_000_000_000_000), 6_000_000_000_000_000)
        let days = (bounded - (bounded < 0 ? 86_399 : 0)) / 86_400
        let rest = bounded - days * 86_400
        // Days are counted from 0000-03-01, so that the leap day ends a year of 12 months; then 400-year eras.
        let shifted = days + 719_468
        let era = (shifted - (shifted < 0 ? 146_096 : 0)) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
        month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
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

    /// Writes a number of bytes for people: `312 B`, `4.7 MB`.
    mutating func size(_ bytes: Int64) {
        guard bytes >= 1000 else {
            integer(bytes)
            return raw(" B")
        }
        var tenths = bytes / 100
        var unit = 0
        let units: [StaticString] = [" kB", " MB", " GB", " TB", " PB", " EB"]
        while tenths >= 10_000, unit < units.count - 1 {
            tenths /= 1000
            unit += 1
        }
        integer(tenths / 10)
        if tenths < 1000 {
            raw(".")
            integer(tenths % 10)
        }
        raw(units[unit])
    }
}
