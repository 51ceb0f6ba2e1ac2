internal import ServerCore

/// Writes times without a calendar library; remembers the last day and the last texts, since the members of a folder
/// share many.
struct XMLDates {
    private var cachedDay: Int64 = .min
    private var date = GregorianCalendar.date(ofDay: 0)

    /// The last time and text of each form: most members have the time of the one before, or nearly.
    private var lastHTTP: (seconds: Int64?, text: [UInt8]) = (nil, [])
    private var lastInternet: (seconds: Int64?, text: [UInt8]) = (nil, [])

    /// `Sun, 06 Nov 1994 08:49:37 GMT`.
    ///
    /// RFC 9110 §5.6.7.
    mutating func appendHTTP(_ seconds: Int64, to writer: inout XMLWriter) {
        if seconds != lastHTTP.seconds {
            lastHTTP.seconds = seconds
            lastHTTP.text.removeAll(keepingCapacity: true)
            HTTPDate.write(seconds, to: &lastHTTP.text)
        }
        writer.append(bytes: lastHTTP.text)
    }

    /// `1994-11-06T08:49:37Z`.
    ///
    /// RFC 3339.
    mutating func appendInternet(_ seconds: Int64, to writer: inout XMLWriter) {
        guard seconds != lastInternet.seconds else { return writer.append(bytes: lastInternet.text) }
        let start = writer.count
        let time = find(seconds)
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

    /// Finds the day's date where it is another than last time.
    /// - Returns: seconds of the day.
    private mutating func find(_ asked: Int64) -> Int {
        // Neither form can express other years than 0 to 9999.
        let seconds = min(max(asked, HTTPDate.earliest), HTTPDate.latest)
        let (days, time) = seconds.flooredDivision(by: 86_400)
        if days != cachedDay {
            cachedDay = days
            date = GregorianCalendar.date(ofDay: days)
        }
        return Int(time)
    }
}

extension XMLWriter {
    fileprivate mutating func append(twoDigits value: Int) {
        append(padded: value, digits: 2)
    }
}
