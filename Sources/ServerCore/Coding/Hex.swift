/// Hexadecimal digits, written in lower case.
package enum Hex {
    /// The bytes that the digits encode; nil for an odd number of digits, or any other character.
    package static func bytes(_ text: some Collection<UInt8>) -> [UInt8]? {
        let digits = text.compactMap(ASCII.hexValue)
        guard digits.count == text.count, digits.count % 2 == 0 else { return nil }
        return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }

    /// The digit of a number below 16, in ASCII.
    package static func digit(_ number: UInt8) -> UInt8 { number < 10 ? number + 0x30 : number + 0x57 }

    /// Two digits for each byte.
    package static func text(_ bytes: some Sequence<UInt8>) -> String {
        var text: [UInt8] = []
        for byte in bytes { text += [digit(byte >> 4), digit(byte & 15)] }
        return String(decoding: text, as: UTF8.self)
    }
}
