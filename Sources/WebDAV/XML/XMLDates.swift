/// Writes times without a calendar library; remembers the last second, since the members of a folder share many.
struct XMLDates {
    private var cachedDay: Int64 = .min
    private var year: Int64 = 0
    private var month = 0
    private var day = 0

    private static let weekdays: [StaticString] = ["Thu, ", "Fri, ", "Sat, ", "Sun, ", "Mon, ", "Tue, ", "Wed, "]
    private static let months: [StaticString] = [
        " Jan ", " Feb ", " Mar ", " Apr ", " May ", " Jun ", " Jul ", " Aug ", " Sep ", " Oct ", " Nov ", " Dec ",
    ]

    /// The last of each form, whole: most members have the time of the one before, or nearly.
    private var lastHTTP: (seconds: Int64?, text: [UInt8]) = (nil, [])
    private var lastInternet: (seconds: Int64?, text: [UInt8]) = (nil, [])

    /// `Sun, 06 Nov 1994 08:49:37 GMT`.
    ///
    /// RFC 9110 §5.6.7.
    mutating func appendHTTP(_ seconds: Int64, to writer: inout XMLWriter) {
        guard seconds != lastHTTP.seconds else { return writer.append(bytes: lastHTTP.text) }
        let start = writer.count
        let (days, time) = find(seconds)
        let weekday = Int((days % 7 + 7) % 7)
        writer.append(Self.weekdays[weekday])
        writer.append(twoDigits: day)
        writer.append(Self.months[month - 1])
        writer.append(fourDigits: year)
        writer.append(" ")
        appendTime(time, to: &writer)
        writer.append(" GMT")
        lastHTTP.seconds = seconds
        writer.copy(from: start, to: &lastHTTP.text)
    }

    /// `1994-11-06T08:49:37Z`.
    ///
    /// RFC 3339.
    mutating func appendInternet(_ seconds: Int64, to writer: inout XMLWriter) {
        guard seconds != lastInternet.seconds else { return writer.append(bytes: lastInternet.text) }
        let start = writer.count
        let (_, time) = find(seconds)
        writer.append(fourDigits: year)
        writer.append("-")
        writer.append(twoDigits: month)
        writer.append("-")
        writer.append(twoDigits: day)
        writer.append("T")
        appendTime(time, to: &writer)
        writer.append("Z")
        lastInternet.seconds = seconds
        writer.copy(from: start, to: &lastInternet.text)
    }

    private func appendTime(_ time: Int, to writer: inout XMLWriter) {
        writer.append(twoDigits: time / 3600)
        writer.append(":")
        writer.append(twoDigits: time / 60 % 60)
        writer.append(":")
        writer.append(twoDigits: time % 60)
    }

    /// Splits into days and seconds of the day, and finds the day's date where it is another than last time.
    private mutating func find(_ asked: Int64) -> (days: Int64, time: Int) {
        // Years 0 to 9999 are all that either form can say.
        let seconds = min(max(asked, -62_167_219_200), 253_402_300_799)
        let time = (seconds % 86_400 + 86_400) % 86_400
        let days = (seconds - time) / 86_400
        if days != cachedDay {
            cachedDay = days
            // Days since 0000-03-01, in eras of 400 years.
            let shifted = days + 719_468
            let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
            let ofEra = shifted - era * 146_097
            let yearOfEra = (ofEra - ofEra / 1460 + ofEra / 36_524 - ofEra / 146_096) / 365
            let dayOfYear = ofEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
            let shiftedMonth = (5 * dayOfYear + 2) / 153
            day = Int(dayOfYear - (153 * shiftedMonth + 2) / 5 + 1)
            month = Int(shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9)
            year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        }
        return (days, Int(time))
    }
}

extension XMLWriter {
    fileprivate mutating func append(twoDigits value: Int) {
        append(padded: value, digits: 2)
    }

    fileprivate mutating func append(fourDigits value: Int64) {
        append(padded: Int(value), digits: 4)
    }
}
