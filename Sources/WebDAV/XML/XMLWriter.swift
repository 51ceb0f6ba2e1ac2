/// Builds XML as bytes, straight into one buffer; the only way that text gets into markup.
///
/// Whatever text it is given, what comes out is well-formed: markup is escaped, and what XML 1.0 cannot carry (control
/// characters, bytes that are no UTF-8) becomes U+FFFD.
@safe struct XMLWriter: ~Copyable {
    private var base: UnsafeMutablePointer<UInt8>
    private(set) var count = 0
    private var capacity: Int

    init(capacity: Int) {
        self.capacity = max(capacity, 64)
        unsafe base = .allocate(capacity: self.capacity)
    }

    deinit { unsafe base.deallocate() }

    /// What was written since the last time; the buffer is empty and ready for more.
    mutating func take() -> [UInt8] {
        let bytes = unsafe Array(UnsafeBufferPointer(start: base, count: count))
        count = 0
        return bytes
    }

    private mutating func grow(by more: Int) {
        let wanted = max(capacity * 2, count + more)
        let larger = UnsafeMutablePointer<UInt8>.allocate(capacity: wanted)
        unsafe larger.update(from: base, count: count)
        unsafe base.deallocate()
        unsafe base = unsafe larger
        capacity = wanted
    }

    @inline(__always)
    private mutating func ensure(_ more: Int) {
        if capacity - count < more { grow(by: more) }
    }

    /// Markup that is known when this is compiled.
    @inline(__always)
    mutating func append(_ markup: StaticString) {
        let length = markup.utf8CodeUnitCount
        ensure(length)
        unsafe (base + count).update(from: markup.utf8Start, count: length)
        count += length
    }

    /// Bytes that are already XML.
    mutating func append(bytes: some Collection<UInt8>) {
        let length = bytes.count
        ensure(length)
        let done: Void? = bytes.withContiguousStorageIfAvailable { source in
            if let start = source.baseAddress { unsafe (base + count).update(from: start, count: length) }
        }
        if done == nil {
            var cursor = unsafe base + count
            for byte in bytes {
                unsafe cursor.pointee = byte
                unsafe cursor += 1
            }
        }
        count += length
    }

    /// A decimal number.
    mutating func append(number: Int64) {
        ensure(20)
        var magnitude = number.magnitude
        var digits = 1
        var bound: UInt64 = 10
        while digits < 19, magnitude >= bound {
            digits += 1
            bound *= 10
        }
        if number < 0 {
            unsafe base[count] = UInt8(ascii: "-")
            count += 1
        }
        var index = count + digits
        count = index
        for _ in 0..<digits {
            index -= 1
            unsafe base[index] = UInt8(truncatingIfNeeded: magnitude % 10) &+ 0x30
            magnitude /= 10
        }
    }

    /// A number of at most `digits` digits, with zeros before it.
    mutating func append(padded value: Int, digits: Int) {
        ensure(digits)
        var rest = value
        for index in stride(from: count + digits - 1, through: count, by: -1) {
            unsafe base[index] = UInt8(truncatingIfNeeded: rest % 10) &+ 0x30
            rest /= 10
        }
        count += digits
    }

    /// Character data: escaped, a carriage return by reference so that no reader normalises it away.
    mutating func appendText(_ text: ArraySlice<UInt8>) {
        unsafe text.withUnsafeBufferPointer { unsafe appendEscaped($0, isAttribute: false) }
    }

    /// Character data: escaped, a carriage return by reference so that no reader normalises it away.
    mutating func appendText(_ text: [UInt8]) {
        unsafe text.withUnsafeBufferPointer { unsafe appendEscaped($0, isAttribute: false) }
    }

    /// Takes back what was written behind the first `length` bytes.
    mutating func truncate(to length: Int) {
        count = min(count, max(0, length))
    }

    /// Replaces what `copy` holds by what was written behind the first `length` bytes.
    func copy(from length: Int, to copy: inout [UInt8]) {
        copy.removeAll(keepingCapacity: true)
        guard length < count else { return }
        unsafe copy.append(contentsOf: UnsafeBufferPointer(start: base + length, count: count - length))
    }

    /// An attribute's value, without its quotes.
    mutating func appendAttribute(_ text: [UInt8]) {
        unsafe text.withUnsafeBufferPointer { unsafe appendEscaped($0, isAttribute: true) }
    }

    private mutating func appendEscaped(_ text: UnsafeBufferPointer<UInt8>, isAttribute: Bool) {
        // At worst each byte becomes the six of `&quot;`.
        ensure(text.count * 6)
        var index = 0
        while index < text.count {
            let byte = unsafe text[index]
            if ByteTables.isPlain(byte) {
                unsafe base[count] = byte
                count += 1
                index += 1
            } else if byte >= 0x80 {
                let length = unsafe UTF8Sequence.length(in: text, at: index)
                if length > 0 {
                    for offset in 0..<length { unsafe base[count + offset] = unsafe text[index + offset] }
                    count += length
                    index += length
                } else {
                    append("\u{FFFD}")
                    index += 1
                }
            } else {
                appendReference(to: byte, isAttribute: isAttribute)
                index += 1
            }
        }
    }

    private mutating func appendReference(to byte: UInt8, isAttribute: Bool) {
        switch byte {
        case UInt8(ascii: "<"): append("&lt;")
        case UInt8(ascii: ">"): append("&gt;")
        case UInt8(ascii: "&"): append("&amp;")
        case UInt8(ascii: "\""): append(isAttribute ? "&quot;" : "\"")
        case 0x0D: append("&#13;")
        case 0x0A: append(isAttribute ? "&#10;" : "\n")
        case 0x09: append(isAttribute ? "&#9;" : "\t")
        default: append("\u{FFFD}")
        }
    }

    /// A path as it stands in an `href`: percent-encoded but for what may stand in one and means nothing in XML.
    ///
    /// RFC 3986 §3.3.
    mutating func appendPath(_ path: some Collection<UInt8>) {
        ensure(path.count * 3)
        let plain = ByteTables.plainInPath
        for byte in path {
            if plain.contains(byte) {
                unsafe base[count] = byte
                count += 1
            } else {
                unsafe base[count] = UInt8(ascii: "%")
                unsafe base[count + 1] = ByteTables.hexDigit(byte >> 4)
                unsafe base[count + 2] = ByteTables.hexDigit(byte & 15)
                count += 3
            }
        }
    }
}

/// What one byte means to the writers, as bit sets in two words each: no memory is touched for them.
private enum ByteTables {
    /// Printable ASCII but for `<`, `>`, `&` and `"`.
    @inline(__always)
    static func isPlain(_ byte: UInt8) -> Bool {
        byte >= 0x20 && byte < 0x7F && byte != 0x3C && byte != 0x3E && byte != 0x26 && byte != 0x22 || byte == 0x7F
    }

    /// The characters that an `href` shows as they are; the same as in every other address of the server.
    ///
    /// To be taken once for many bytes: each time it is asked whether it has been made.
    static let plainInPath = ASCIISet(
        low: set("!$()*+,-./0123456789:=", from: 0),
        high: set("@ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz~", from: 64))

    @inline(__always)
    static func hexDigit(_ value: UInt8) -> UInt8 { value < 10 ? value + 0x30 : value + 0x37 }

    private static func set(_ characters: StaticString, from first: UInt8) -> UInt64 {
        characters.withUTF8Buffer { unsafe $0.reduce(0) { $0 | 1 << UInt64($1 - first) } }
    }
}

/// A set of ASCII characters.
private struct ASCIISet {
    let low: UInt64
    let high: UInt64

    @inline(__always)
    func contains(_ byte: UInt8) -> Bool {
        byte < 128 && (byte < 64 ? low : high) & (1 << UInt64(byte & 63)) != 0
    }
}
