import ServerCore

/// A moment as the fields of a UTC calendar, for listings and archives.
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

    /// Writes a number of bytes as Apache's listings have it, for programs that know those: `312`, `4.7M`.
    mutating func shortSize(_ bytes: Int64) {
        var (rest, unit) = (Double(bytes), 0)
        let units: [StaticString] = ["", "K", "M", "G", "T", "P", "E"]
        while rest >= 999.5, unit < units.count - 1 {
            rest /= 1024
            unit += 1
        }
        let tenths = Int64((rest * 10).rounded())
        if unit > 0, tenths < 100 {
            integer(tenths / 10)
            raw(".")
            integer(tenths % 10)
        } else {
            integer(Int64(rest.rounded()))
        }
        raw(units[unit])
    }
}
