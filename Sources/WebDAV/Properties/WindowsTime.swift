internal import DirectoryRoot
internal import ServerCore

/// The times that Windows sets with a PROPPATCH after each upload, and those that other clients set.
enum WindowsTime {
    private static let namespace = "urn:schemas-microsoft-com:"

    static let modified = PropertyName(namespace: namespace, local: "Win32LastModifiedTime")
    static let accessed = PropertyName(namespace: namespace, local: "Win32LastAccessTime")

    /// Whether the property stands for the file's modification time: Windows', the RFC's own, or rclone's.
    static func isModified(_ name: PropertyName) -> Bool {
        name == modified
            || name.namespace == "DAV:" && (name.local == "getlastmodified" || name.local == "lastmodified")
    }

    /// Reads an HTTP date, an Internet date (RFC 3339), or seconds since 1970; nil when it is none of them.
    static func parse(_ text: String) -> Timestamp? {
        let text = text.trimmingBlanks
        if let seconds = HTTPDate.parse(text) ?? looseDate(text) { return Timestamp(seconds: seconds) }
        if let time = ModificationTime(seconds: text.utf8)?.time { return time }
        return internetDate(text)
    }

    /// An HTTP date with a one-digit day or another word for GMT, as Java's and Go's libraries write it.
    private static func looseDate(_ text: String) -> Int64? {
        var words = text.split(separator: " ").map(String.init)
        guard words.count == 6, ["GMT", "UTC", "+0000", "-0000"].contains(words[5]) else { return nil }
        words[5] = "GMT"
        if words[1].utf8.count == 1 { words[1] = "0" + words[1] }
        return HTTPDate.parse(words.joined(separator: " "))
    }

    /// `2024-01-31T12:34:56Z`; decimals are ignored, and only UTC is read.
    private static func internetDate(_ text: String) -> Timestamp? {
        let bytes = Array(text.utf8)
        guard bytes.count >= 20, bytes[10] | 0x20 == UInt8(ascii: "t"),
            bytes.last.map({ $0 | 0x20 }) == UInt8(ascii: "z"),
            bytes[4] == UInt8(ascii: "-"), bytes[7] == UInt8(ascii: "-"), bytes[13] == UInt8(ascii: ":"),
            bytes[16] == UInt8(ascii: ":")
        else { return nil }
        func number(_ span: Range<Int>) -> Int? {
            bytes[span].allSatisfy { (0x30...0x39).contains($0) }
                ? Int(String(decoding: bytes[span], as: UTF8.self)) : nil
        }
        guard let month = number(5..<7), let year = number(0..<4), let day = number(8..<10),
            let hour = number(11..<13), let minute = number(14..<16), let second = number(17..<19),
            hour < 24, minute < 60, second < 61,
            let midnight = GregorianCalendar.day(year: year, month: month, day: day)
        else { return nil }
        return Timestamp(seconds: midnight * 86_400 + Int64(hour * 3600 + minute * 60 + second))
    }
}
