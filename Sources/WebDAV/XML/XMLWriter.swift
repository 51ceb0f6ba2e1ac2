internal import DirectoryRoot
internal import ServerCore

/// Builds XML as bytes in one buffer; the only way that text gets into markup.
///
/// The output is well-formed whatever the text: markup is escaped, and what XML 1.0 cannot carry (control characters,
/// invalid UTF-8) becomes U+FFFD.
@safe struct XMLWriter: ~Copyable {
    private var base: UnsafeMutablePointer<UInt8>
    private(set) var count = 0
    private var capacity: Int

    init(capacity: Int) {
        self.capacity = max(capacity, 64)
        unsafe base = .allocate(capacity: self.capacity)
    }

    deinit { unsafe base.deallocate() }

    /// Returns what was written since the last call; the buffer is then empty and ready for more.
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

    /// Appends markup that is known at compile time.
    @inline(__always)
    mutating func append(_ markup: StaticString) {
        let length = markup.utf8CodeUnitCount
        ensure(length)
        unsafe (base + count).update(from: markup.utf8Start, count: length)
        count += length
    }

    /// Appends bytes that are already XML.
    @inline(__always)
    mutating func append(bytes: UnsafeBufferPointer<UInt8>) {
        guard let start = bytes.baseAddress else { return }
        ensure(bytes.count)
        unsafe (base + count).update(from: start, count: bytes.count)
        count += bytes.count
    }

    /// Appends bytes that are already XML.
    mutating func append(bytes: [UInt8]) {
        unsafe bytes.withUnsafeBufferPointer { unsafe append(bytes: $0) }
    }

    /// Appends characters that are already XML.
    mutating func append(bytes: String.UTF8View) {
        let done: Void? = unsafe bytes.withContiguousStorageIfAvailable { unsafe append(bytes: $0) }
        if done == nil { append(bytes: Array(bytes)) }
    }

    /// Appends an entity tag with its quotes, which need no escaping in character data.
    mutating func append(_ tag: EntityTag) {
        ensure(EntityTag.room)
        count += unsafe tag.write(at: base + count)
    }

    /// Appends a decimal number.
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

    /// Appends a number of at most `digits` digits, padded with zeros.
    mutating func append(padded value: Int, digits: Int) {
        ensure(digits)
        var rest = value
        for index in stride(from: count + digits - 1, through: count, by: -1) {
            unsafe base[index] = UInt8(truncatingIfNeeded: rest % 10) &+ 0x30
            rest /= 10
        }
        count += digits
    }

    /// Appends character data: escaped, a carriage return as a reference so that no reader normalizes it away.
    mutating func appendText(_ text: UnsafeBufferPointer<UInt8>) {
        unsafe appendEscaped(text, isAttribute: false)
    }

    /// Appends character data: escaped, a carriage return as a reference so that no reader normalizes it away.
    mutating func appendText(_ text: [UInt8]) {
        unsafe text.withUnsafeBufferPointer { unsafe appendEscaped($0, isAttribute: false) }
    }

    /// Removes everything after the first `length` bytes.
    mutating func truncate(to length: Int) {
        count = min(count, max(0, length))
    }

    /// Replaces the content of `copy` by the bytes after the first `length`.
    func copy(from length: Int, to copy: inout [UInt8]) {
        copy.removeAll(keepingCapacity: true)
        guard length < count else { return }
        unsafe copy.append(contentsOf: UnsafeBufferPointer(start: base + length, count: count - length))
    }

    /// Appends an attribute's value, without its quotes.
    mutating func appendAttribute(_ text: [UInt8]) {
        unsafe text.withUnsafeBufferPointer { unsafe appendEscaped($0, isAttribute: true) }
    }

    private mutating func appendEscaped(_ text: UnsafeBufferPointer<UInt8>, isAttribute: Bool) {
        // In the worst case each byte becomes the six of `&quot;`.
        ensure(text.count * 6)
        var index = 0
        // Not `count`, which would be written back with each byte.
        var end = unsafe base + count
        while index < text.count {
            let byte = unsafe text[index]
            if Self.isPlain(byte) {
                unsafe end.pointee = byte
                unsafe end += 1
                index += 1
            } else {
                count = unsafe end - base
                index += unsafe appendSpecial(text, at: index, isAttribute: isAttribute)
                unsafe end = unsafe base + count
            }
        }
        count = unsafe end - base
    }

    /// Whether it is ASCII other than the control characters below the space, `<`, `>`, `&` and `"`.
    @inline(__always)
    private static func isPlain(_ byte: UInt8) -> Bool {
        byte >= 0x20 && byte < 0x80 && byte != 0x3C && byte != 0x3E && byte != 0x26 && byte != 0x22
    }

    /// Writes a character that is not plain ASCII, and returns how many bytes of the text it takes.
    private mutating func appendSpecial(_ text: UnsafeBufferPointer<UInt8>, at index: Int, isAttribute: Bool) -> Int {
        let byte = unsafe text[index]
        guard byte >= 0x80 else {
            appendReference(to: byte, isAttribute: isAttribute)
            return 1
        }
        let length = unsafe UTF8Scan.sequenceLength(text, at: index)
        guard length > 0, unsafe !Self.isNoncharacter(text, at: index) else {
            append("\u{FFFD}")
            return 1
        }
        unsafe append(bytes: UnsafeBufferPointer(rebasing: text[index..<index + length]))
        return length
    }

    /// Whether U+FFFE or U+FFFF is there, in a well-formed sequence: XML allows neither.
    private static func isNoncharacter(_ text: UnsafeBufferPointer<UInt8>, at index: Int) -> Bool {
        unsafe text[index] == 0xEF && text[index + 1] == 0xBF && text[index + 2] >= 0xBE
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

    /// Appends a path as in an `href`: percent-encoded except for characters that are allowed there and mean nothing in
    /// XML.
    mutating func appendPath(_ path: UnsafeBufferPointer<UInt8>) {
        ensure(path.count * 3)
        let buffer = unsafe UnsafeMutableBufferPointer(start: base + count, count: capacity - count)
        count += unsafe URICharacters.reference.write(path, to: buffer)
    }

    /// Appends a path as in an `href`.
    mutating func appendPath(_ path: [UInt8]) {
        unsafe path.withUnsafeBufferPointer { unsafe appendPath($0) }
    }
}
