#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// One line of a state file: named fields, whose values may be any bytes.
///
///     token=urn:uuid:…<TAB>path=a/b<LF>
///
/// A backslash, a tab, a line feed and a NUL inside a value are escaped, so that a record is always one line. Unknown
/// fields are ignored, so that an older program can read what a newer one wrote.
struct StateRecord {
    private(set) var fields: [(key: String, value: [UInt8])] = []

    init() {}

    /// Reads one line, without its line feed.
    init(line: ArraySlice<UInt8>) throws(DamagedState) {
        for field in Self.parts(of: line, between: UInt8(ascii: "\t")) {
            guard let equals = Self.first(UInt8(ascii: "="), in: field) else { throw DamagedState() }
            let key = String(decoding: field[field.startIndex..<equals], as: UTF8.self)
            fields.append((key, try Self.unescape(field[(equals + 1)...])))
        }
    }

    /// All the records of a file.
    static func all(in payload: some RandomAccessCollection<UInt8>) throws(DamagedState) -> [StateRecord] {
        let bytes = Array(payload)
        var records: [StateRecord] = []
        for line in parts(of: bytes[...], between: UInt8(ascii: "\n")) {
            records.append(try StateRecord(line: line))
        }
        return records
    }

    subscript(key: String) -> [UInt8]? {
        for field in fields where field.key == key { return field.value }
        return nil
    }

    func text(_ key: String) -> String? { self[key].map { String(decoding: $0, as: UTF8.self) } }

    func number(_ key: String) -> Int64? { text(key).flatMap { Int64($0) } }

    func flag(_ key: String) -> Bool { self[key] == [UInt8(ascii: "1")] }

    /// A timestamp, written as `seconds.nanoseconds`.
    func time(_ key: String) -> Timestamp? {
        guard let parts = text(key)?.split(separator: "."), parts.count == 2, let seconds = Int64(parts[0]),
            let nanoseconds = Int32(parts[1]), (0..<1_000_000_000).contains(nanoseconds)
        else { return nil }
        return Timestamp(seconds: seconds, nanoseconds: nanoseconds)
    }

    mutating func set(_ key: String, _ value: [UInt8]?) {
        if let value { fields.append((key, value)) }
    }

    mutating func set(_ key: String, _ value: String?) { set(key, value.map { Array($0.utf8) }) }

    mutating func set(_ key: String, _ value: Int64?) { set(key, value.map(String.init)) }

    mutating func set(_ key: String, _ value: Bool) { set(key, value ? "1" : nil) }

    mutating func set(_ key: String, _ value: Timestamp?) {
        set(key, value.map { "\($0.seconds).\($0.nanoseconds)" })
    }

    /// The line with its line feed.
    func write(to buffer: inout [UInt8]) {
        var isFirst = true
        for (key, value) in fields {
            if !isFirst { buffer.append(UInt8(ascii: "\t")) }
            isFirst = false
            buffer.append(contentsOf: key.utf8)
            buffer.append(UInt8(ascii: "="))
            Self.escape(value, to: &buffer)
        }
        buffer.append(UInt8(ascii: "\n"))
    }

    private static func escape(_ value: [UInt8], to buffer: inout [UInt8]) {
        for byte in value {
            switch byte {
            case UInt8(ascii: "\\"): buffer.append(contentsOf: [byte, byte])
            case UInt8(ascii: "\t"): buffer.append(contentsOf: [UInt8(ascii: "\\"), UInt8(ascii: "t")])
            case UInt8(ascii: "\n"): buffer.append(contentsOf: [UInt8(ascii: "\\"), UInt8(ascii: "n")])
            case 0: buffer.append(contentsOf: [UInt8(ascii: "\\"), UInt8(ascii: "0")])
            default: buffer.append(byte)
            }
        }
    }

    private static func unescape(_ text: ArraySlice<UInt8>) throws(DamagedState) -> [UInt8] {
        var value: [UInt8] = []
        value.reserveCapacity(text.count)
        var rest = text
        while let escape = first(UInt8(ascii: "\\"), in: rest) {
            value.append(contentsOf: rest[..<escape])
            rest = rest[(escape + 1)...]
            switch rest.popFirst() {
            case UInt8(ascii: "\\"): value.append(UInt8(ascii: "\\"))
            case UInt8(ascii: "t"): value.append(UInt8(ascii: "\t"))
            case UInt8(ascii: "n"): value.append(UInt8(ascii: "\n"))
            case UInt8(ascii: "0"): value.append(0)
            default: throw DamagedState()
            }
        }
        value.append(contentsOf: rest)
        return value
    }

    /// What stands between separators; nothing for two in a row.
    private static func parts(of bytes: ArraySlice<UInt8>, between separator: UInt8) -> [ArraySlice<UInt8>] {
        var parts: [ArraySlice<UInt8>] = []
        var rest = bytes
        while !rest.isEmpty {
            let end = first(separator, in: rest) ?? rest.endIndex
            if end > rest.startIndex { parts.append(rest[..<end]) }
            rest = rest[end...].dropFirst()
        }
        return parts
    }

    /// The index of the first such byte, by the C library: a move of a folder reads the properties of thousands of files.
    private static func first(_ byte: UInt8, in bytes: ArraySlice<UInt8>) -> Int? {
        unsafe bytes.withUnsafeBytes { raw in
            guard let start = raw.baseAddress, let found = unsafe memchr(start, Int32(byte), raw.count) else {
                return nil
            }
            return unsafe bytes.startIndex + (UnsafeRawPointer(found) - start)
        }
    }
}

/// A state file does not hold what this program would have written.
struct DamagedState: Error {}
