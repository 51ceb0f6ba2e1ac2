internal import DirectoryRoot

/// Dates as HTTP writes them, in whole seconds since 1970-01-01T00:00:00Z.
///
/// Writes IMF-fixdate only; also reads the two older forms. RFC 9110 §5.6.7.
package enum HTTPDate {
    /// The latest second that the format can express: 9999-12-31T23:59:59Z.
    package static let latest: Int64 = 253_402_300_799
    /// The earliest second that the format can express: 0000-01-01T00:00:00Z.
    package static let earliest: Int64 = -62_167_219_200

    /// The wall clock in seconds.
    package static var now: Int64 { Timestamp.now.seconds }

    /// Appends the 29 bytes of `Sun, 06 Nov 1994 08:49:37 GMT`; a time outside the years 0 to 9999 is clamped.
    package static func write(_ seconds: Int64, to buffer: inout [UInt8]) {
        unsafe withUnsafeTemporaryAllocation(of: UInt8.self, capacity: length) { text in
            unsafe compose(seconds, in: text)
            unsafe buffer.append(contentsOf: text)
        }
    }

    /// The date as text.
    package static func text(_ seconds: Int64) -> String {
        unsafe String(unsafeUninitializedCapacity: length) { text in
            unsafe compose(seconds, in: text)
            return length
        }
    }

    private static let length = 29

    /// Writes ``length`` bytes into `text`.
    private static func compose(_ seconds: Int64, in text: UnsafeMutableBufferPointer<UInt8>) {
        let seconds = min(max(seconds, earliest), latest)
        let (day, second) = seconds.flooredDivision(by: 86_400)
        let date = GregorianCalendar.date(ofDay: day)
        // 1970-01-01 was a Thursday, the fourth day of a week that begins on Sunday.
        let weekday = Int((day + 4).flooredDivision(by: 7).remainder)
        unsafe put("---, -- --- ---- --:--:-- GMT", 0..<length, at: 0, in: text)
        unsafe put("SunMonTueWedThuFriSat", weekday * 3..<weekday * 3 + 3, at: 0, in: text)
        unsafe put(date.day, digits: 2, at: 5, in: text)
        unsafe put(GregorianCalendar.monthNames, date.month * 3 - 3..<date.month * 3, at: 8, in: text)
        unsafe put(date.year, digits: 4, at: 12, in: text)
        unsafe put(Int(second / 3600), digits: 2, at: 17, in: text)
        unsafe put(Int(second / 60 % 60), digits: 2, at: 20, in: text)
        unsafe put(Int(second % 60), digits: 2, at: 23, in: text)
    }

    /// Parses any of the three forms; nil when it is none of them, or the date does not exist.
    /// - Parameters:
    ///   - text: the whole field value.
    ///   - now: decides the century of a two-digit year: never more than 50 years ahead.
    /// - Returns: seconds since 1970.
    package static func parse(_ text: some StringProtocol, now: Int64 = HTTPDate.now) -> Int64? {
        var scanner = DateScanner(text.utf8)
        return scanner.date(now: now)
    }

    private static func put(
        _ source: StaticString, _ range: Range<Int>, at index: Int, in text: UnsafeMutableBufferPointer<UInt8>
    ) {
        source.withUTF8Buffer { bytes in
            for offset in 0..<range.count { unsafe text[index + offset] = bytes[range.lowerBound + offset] }
        }
    }

    private static func put(
        _ value: Int, digits: Int, at index: Int, in text: UnsafeMutableBufferPointer<UInt8>
    ) {
        var rest = value
        for offset in stride(from: digits - 1, through: 0, by: -1) {
            unsafe text[index + offset] = UInt8(truncatingIfNeeded: 0x30 + rest % 10)
            rest /= 10
        }
    }
}
