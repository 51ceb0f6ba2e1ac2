/// Reads the three date forms of RFC 9110 §5.6.7, byte by byte.
struct DateScanner {
    private var rest: ArraySlice<UInt8>

    init(_ text: some Sequence<UInt8>) { rest = Array(text.prefix(64))[...] }

    mutating func date(now: Int64) -> Int64? {
        rest = ASCII.trimmed(rest)
        guard let weekday = word(), weekday.count >= 3 else { return nil }
        guard take(UInt8(ascii: ",")) else { return asctime() }
        guard take(0x20), let day = number(2) else { return nil }
        if take(0x20) {
            // IMF-fixdate: `06 Nov 1994 08:49:37 GMT`
            guard let month = month(), take(0x20), let year = number(4), take(0x20) else { return nil }
            return zoned(year: year, month: month, day: day)
        }
        // RFC 850: `06-Nov-94 08:49:37 GMT`
        guard take(UInt8(ascii: "-")), let month = month(), take(UInt8(ascii: "-")), let short = number(2), take(0x20)
        else { return nil }
        let thisYear = GregorianCalendar.date(ofDay: now / 86_400).year
        var year = thisYear / 100 * 100 + short
        if year > thisYear + 50 { year -= 100 }
        return zoned(year: year, month: month, day: day)
    }

    /// `Nov  6 08:49:37 1994`, after the name of the weekday.
    private mutating func asctime() -> Int64? {
        guard take(0x20), let month = month(), take(0x20) else { return nil }
        let day = take(0x20) ? number(1) : number(2)
        guard let day, take(0x20), let seconds = clock(), take(0x20), let year = number(4), rest.isEmpty else {
            return nil
        }
        return GregorianCalendar.day(year: year, month: month, day: day).map { $0 * 86_400 + seconds }
    }

    private mutating func zoned(year: Int, month: Int, day: Int) -> Int64? {
        guard let seconds = clock(), take(0x20), let zone = word(), zone.elementsEqual("gmt".utf8), rest.isEmpty else {
            return nil
        }
        return GregorianCalendar.day(year: year, month: month, day: day).map { $0 * 86_400 + seconds }
    }

    private mutating func clock() -> Int64? {
        guard let hour = number(2), take(UInt8(ascii: ":")), let minute = number(2), take(UInt8(ascii: ":")),
            let second = number(2), hour < 24, minute < 60, second <= 60
        else { return nil }
        return Int64(hour * 3600 + minute * 60 + second)
    }

    private mutating func take(_ byte: UInt8) -> Bool {
        guard rest.first == byte else { return false }
        rest.removeFirst()
        return true
    }

    private mutating func number(_ digits: Int) -> Int? {
        guard rest.count >= digits, let value = ASCII.decimal(rest.prefix(digits)) else { return nil }
        rest.removeFirst(digits)
        return Int(value)
    }

    /// A run of letters, in lower case.
    private mutating func word() -> [UInt8]? {
        let letters = rest.prefix(while: ASCII.isLetter)
        guard !letters.isEmpty else { return nil }
        rest.removeFirst(letters.count)
        return letters.map(ASCII.lowercased)
    }

    private mutating func month() -> Int? {
        let names = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
        guard let word = word() else { return nil }
        return names.firstIndex { $0.utf8.elementsEqual(word) }.map { $0 + 1 }
    }
}
