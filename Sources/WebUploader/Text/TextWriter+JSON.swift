import ServerCore

extension TextWriter {
    /// Writes a JSON string that is also safe inside a `script` element of a page: `<`, `>` and `&` are escaped too.
    ///
    /// Bytes that are not UTF-8 become U+FFFD.
    /// - Returns: whether the string represents the bytes exactly.
    @discardableResult
    mutating func json(_ text: [UInt8]) -> Bool {
        byte(UInt8(ascii: "\""))
        let isExact = unsafe text.withUnsafeBufferPointer { unsafe jsonContent($0) }
        byte(UInt8(ascii: "\""))
        return isExact
    }

    /// Writes a JSON string.
    mutating func json(_ text: String) {
        var text = text
        byte(UInt8(ascii: "\""))
        text.withUTF8 { _ = unsafe jsonContent($0) }
        byte(UInt8(ascii: "\""))
    }

    /// Writes `true` or `false`.
    mutating func json(_ value: Bool) {
        if value { raw("true") } else { raw("false") }
    }

    /// Writes a JSON list.
    /// - Parameters:
    ///   - items: its items.
    ///   - write: writes one of them.
    mutating func jsonList<Item>(_ items: some Sequence<Item>, _ write: (inout TextWriter, Item) -> Void) {
        raw("[")
        for (index, item) in items.enumerated() {
            if index > 0 { raw(",") }
            write(&self, item)
        }
        raw("]")
    }

    /// Writes the part between the quotes of a JSON string.
    /// - Returns: whether it represents the bytes exactly.
    mutating func jsonContent(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
        var isExact = true
        var plainStart = 0
        var index = 0
        while index < text.count {
            let byte = unsafe text[index]
            if Self.isPlainInJSON[Int(byte)] {
                index += 1
                continue
            }
            let length = unsafe byte < 0x80 ? 0 : UTF8Scan.sequenceLength(text, at: index)
            if length > 0 {
                index += length
                continue
            }
            unsafe raw(UnsafeBufferPointer(rebasing: text[plainStart..<index]))
            if byte < 0x80 {
                jsonEscape(byte)
            } else {
                raw("\u{FFFD}")
                isExact = false
            }
            index += 1
            plainStart = index
        }
        unsafe raw(UnsafeBufferPointer(rebasing: text[plainStart...]))
        return isExact
    }

    private mutating func jsonEscape(_ value: UInt8) {
        switch value {
        case UInt8(ascii: "\""): raw(#"\""#)
        case UInt8(ascii: "\\"): raw(#"\\"#)
        case 0x0A: raw(#"\n"#)
        case 0x0D: raw(#"\r"#)
        case 0x09: raw(#"\t"#)
        default:
            raw(#"\u00"#)
            hex(value)
        }
    }

    private static let isPlainInJSON: [Bool] = (0..<256).map { value in
        switch UInt8(value) {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "&"): false
        case 0x20..<0x7F: true
        default: false
        }
    }
}
