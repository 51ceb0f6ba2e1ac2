internal import ServerCore

/// Writes times without a calendar library; remembers the last second, since the members of a folder share many.
struct XMLDates {
    private var cachedDay: Int64 = .min
    private var date = GregorianCalendar.date(ofDay: 0)

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
        writer.append(twoDigits: date.day)
        writer.append(Self.months[date.month - 1])
        writer.append(padded: date.year, digits: 4)
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
        writer.append(padded: date.year, digits: 4)
        writer.append("-")
        writer.append(twoDigits: date.month)
        writer.append("-")
        writer.append(twoDigits: date.day)
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
        let seconds = min(max(asked, HTTPDate.earliest), HTTPDate.latest)
        let time = (seconds % 86_400 + 86_400) % 86_400
        let days = (seconds - time) / 86_400
        if days != cachedDay {
            cachedDay = days
            date = GregorianCalendar.date(ofDay: days)
        }
        return (days, Int(time))
    }
}

extension XMLWriter {
    fileprivate mutating func append(twoDigits value: Int) {
        append(padded: value, digits: 2)
    }
}
