import ServerCore

extension TextWriter {
    /// Writes text into markup or into a quoted attribute: `&`, `<`, `>`, `"`, `'` as references, control characters
    /// and what is not UTF-8 as U+FFFD, and bidirectional controls as U+FFFD too, so that a name can't reorder what is
    /// beside it.
    mutating func html(_ text: [UInt8]) {
        unsafe text.withUnsafeBufferPointer { unsafe html($0) }
    }

    /// Writes text into markup or into a quoted attribute.
    mutating func html(_ text: String) {
        var text = text
        text.withUTF8 { unsafe html($0) }
    }

    private mutating func html(_ text: UnsafeBufferPointer<UInt8>) {
        var index = 0
        while index < text.count {
            let value = unsafe text[index]
            switch value {
            case UInt8(ascii: "&"): raw("&amp;")
            case UInt8(ascii: "<"): raw("&lt;")
            case UInt8(ascii: ">"): raw("&gt;")
            case UInt8(ascii: "\""): raw("&quot;")
            case UInt8(ascii: "'"): raw("&#39;")
            case 0x20..<0x7F: byte(value)
            case 0x80...:
                let length = unsafe UTF8Scan.sequenceLength(text, at: index)
                let sequence = unsafe text[index..<(index + length)]
                if unsafe length == 0 || Self.turnsText(sequence) {
                    raw("\u{FFFD}")
                } else {
                    unsafe raw(UnsafeBufferPointer(rebasing: sequence))
                }
                index += max(1, length)
                continue
            default: raw("\u{FFFD}")
            }
            index += 1
        }
    }

    /// Whether well-formed text contains something that controls a terminal, or reorders what is beside it.
    static func turnsText(_ text: [UInt8]) -> Bool {
        guard text.contains(where: { $0 >= 0x80 }) else { return false }
        return unsafe text.withUnsafeBufferPointer { text in
            var index = 0
            while index < text.count {
                let length = unsafe max(1, text[index] < 0x80 ? 1 : UTF8Scan.sequenceLength(text, at: index))
                if unsafe turnsText(text[index..<(index + length)]) { return true }
                index += length
            }
            return false
        }
    }

    /// Whether a sequence is one of U+2028…U+202E, U+2066…U+2069, U+200E, U+200F, U+061C or a C1 control.
    private static func turnsText(_ sequence: Slice<UnsafeBufferPointer<UInt8>>) -> Bool {
        switch unsafe Array(sequence) {
        case let s where s.count == 2: s[0] == 0xC2 && s[1] < 0xA0 || s == [0xD8, 0x9C]
        case let s where s.count == 3 && s[0] == 0xE2:
            s[1] == 0x80 && (0xA8...0xAE ~= s[2] || 0x8E...0x8F ~= s[2])
                || s[1] == 0x81 && 0xA6...0xA9 ~= s[2]
        default: false
        }
    }
}
