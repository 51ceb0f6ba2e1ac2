/// Base64, written in the standard alphabet of RFC 4648 §4.
///
/// Reading also accepts the URL-safe alphabet (§5) and missing padding, but nothing else between the letters.
package enum Base64 {
    /// The text for some bytes, padded.
    package static func encode(_ bytes: some Sequence<UInt8>) -> String {
        var text: [UInt8] = []
        var bits: UInt32 = 0
        var count = 0
        for byte in bytes {
            bits = bits << 8 | UInt32(byte)
            count += 8
            while count >= 6 {
                count -= 6
                text.append(letter(UInt8(bits >> UInt32(count) & 63)))
            }
        }
        if count > 0 { text.append(letter(UInt8(bits << UInt32(6 - count) & 63))) }
        while text.count % 4 != 0 { text.append(UInt8(ascii: "=")) }
        return String(decoding: text, as: UTF8.self)
    }

    /// The bytes of a text; padding may be missing.
    /// - Parameter text: in the standard alphabet, or the URL-safe one (`-`, `_`).
    /// - Returns: nil when it contains anything else, or letters are missing.
    package static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count / 4 * 3)
        var bits: UInt32 = 0
        var count = 0
        var padding = 0
        for byte in text {
            if byte == UInt8(ascii: "=") {
                padding += 1
                continue
            }
            guard padding == 0, let value = value(byte) else { return nil }
            bits = (bits << 6 | UInt32(value)) & 0xFF_FFFF
            count += 6
            if count >= 8 {
                count -= 8
                bytes.append(UInt8(bits >> UInt32(count) & 0xFF))
            }
        }
        return padding <= 2 && count < 6 ? bytes : nil
    }

    private static func letter(_ value: UInt8) -> UInt8 {
        switch value {
        case 0..<26: value + 0x41
        case 26..<52: value - 26 + 0x61
        case 52..<62: value - 52 + 0x30
        case 62: UInt8(ascii: "+")
        default: UInt8(ascii: "/")
        }
    }

    private static func value(_ letter: UInt8) -> UInt8? {
        switch letter {
        case 0x41...0x5A: letter - 0x41
        case 0x61...0x7A: letter - 0x61 + 26
        case 0x30...0x39: letter - 0x30 + 52
        case UInt8(ascii: "+"), UInt8(ascii: "-"): 62
        case UInt8(ascii: "/"), UInt8(ascii: "_"): 63
        default: nil
        }
    }
}
