extension SharePath {
    /// The path as it stands in a URL after the leading slash.
    ///
    /// Every byte that is not certainly harmless in an `href`, a `Location` field and XML is percent-encoded in upper
    /// case. RFC 3986 §2.
    public var percentEncoded: String {
        var encoded: [UInt8] = []
        for byte in bytes {
            if Self.isPlain(byte) {
                encoded.append(byte)
            } else {
                encoded.append(UInt8(ascii: "%"))
                encoded.append(Self.digit(byte >> 4))
                encoded.append(Self.digit(byte & 15))
            }
        }
        return String(decoding: encoded, as: UTF8.self)
    }

    /// Letters, digits, `/` and those marks of RFC 3986 §3.3 that mean nothing in HTML, XML or a header field.
    ///
    /// Of these only what the common clients leave as it is too: `&`, `'` and `;` are encoded.
    private static func isPlain(_ byte: UInt8) -> Bool {
        byte < 128 && (byte < 64 ? plainLow : plainHigh) & (1 << UInt64(byte & 63)) != 0
    }

    private static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? value + UInt8(ascii: "0") : value - 10 + UInt8(ascii: "A")
    }
}

private let plainLow = mask(of: "!$()*+,-./0123456789:=", from: 0)
private let plainHigh = mask(of: "@ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz~", from: 64)

private func mask(of characters: StaticString, from first: UInt8) -> UInt64 {
    characters.withUTF8Buffer { bytes in unsafe bytes.reduce(0) { mask, byte in mask | 1 << UInt64(byte - first) } }
}
