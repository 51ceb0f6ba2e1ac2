/// Converts a body to UTF-8 before the parser sees it, so that nothing is read in a wrong encoding.
///
/// A byte order mark decides, then the `charset` of the Content-Type, then the XML declaration (RFC 7303 §3).
enum XMLText {
    private enum Encoding {
        case utf8
        case utf16(isBigEndian: Bool)
        case latin1
        case ascii
    }

    /// The body as UTF-8 without a byte order mark.
    /// - Parameters:
    ///   - body: the bytes as received.
    ///   - charset: the `charset` of the Content-Type.
    /// - Returns: valid UTF-8.
    /// - Throws: ``XMLError/encoding`` for an unknown encoding, or one in which the bytes are not valid.
    static func decode(_ body: [UInt8], charset: String?) throws(XMLError) -> [UInt8] {
        let (encoding, rest) = try find(body, charset: charset)
        switch encoding {
        case .utf8:
            guard String(validating: rest, as: UTF8.self) != nil else { throw .encoding }
            return Array(rest)
        case .ascii:
            guard rest.allSatisfy({ $0 < 0x80 }) else { throw .encoding }
            return Array(rest)
        case .latin1:
            return rest.flatMap { $0 < 0x80 ? [$0] : [0xC0 | $0 >> 6, 0x80 | $0 & 0x3F] }
        case .utf16(let isBigEndian):
            guard rest.count % 2 == 0 else { throw .encoding }
            let units = stride(from: rest.startIndex, to: rest.endIndex, by: 2).map { index in
                let (a, b) = (UInt16(rest[index]), UInt16(rest[index + 1]))
                return isBigEndian ? a << 8 | b : b << 8 | a
            }
            guard let text = String(validating: units, as: UTF16.self) else { throw .encoding }
            return Array(text.utf8)
        }
    }

    private static func find(
        _ body: [UInt8], charset: String?
    ) throws(XMLError) -> (Encoding, ArraySlice<UInt8>) {
        let head = Array(body.prefix(4))
        switch (head.first ?? 0, head.count > 1 ? head[1] : 1) {
        case (0xFF, 0xFE):
            guard head.count < 4 || head[2] != 0 || head[3] != 0 else { throw .encoding }
            return (.utf16(isBigEndian: false), body.dropFirst(2))
        case (0xFE, 0xFF): return (.utf16(isBigEndian: true), body.dropFirst(2))
        case (0xEF, 0xBB) where head.count > 2 && head[2] == 0xBF: return (.utf8, body.dropFirst(3))
        case (0x3C, 0):
            guard head.count < 4 || head[2] != 0 else { throw .encoding }
            return (.utf16(isBigEndian: false), body[...])
        case (0, 0x3C): return (.utf16(isBigEndian: true), body[...])
        default: break
        }
        if let charset {
            let encoding = try named(charset)
            if case .utf16 = encoding { throw .encoding }
            return (encoding, body[...])
        }
        guard let declared = declaredEncoding(body) else { return (.utf8, body[...]) }
        let encoding = try named(declared)
        // A declaration that can be read as ASCII is not in UTF-16.
        if case .utf16 = encoding { throw .encoding }
        return (encoding, body[...])
    }

    private static func named(_ name: String) throws(XMLError) -> Encoding {
        switch name.lowercased() {
        case "utf-8", "utf8": .utf8
        case "us-ascii", "ascii": .ascii
        case "iso-8859-1", "latin1": .latin1
        case "utf-16", "utf-16le", "utf-16be": .utf16(isBigEndian: true)
        default: throw .encoding
        }
    }

    /// The value of `encoding="…"` in an XML declaration; nil without one.
    ///
    /// Searched in the bytes: searching a string took a sixth of the time of a small PROPFIND.
    private static func declaredEncoding(_ body: [UInt8]) -> String? {
        let head = body.prefix(256)
        guard head.starts(with: "<?xml".utf8), let end = range(of: "?>", in: head) else { return nil }
        let declaration = head[..<end.lowerBound]
        guard let key = range(of: "encoding", in: declaration) else { return nil }
        let value = declaration[key.upperBound...].drop { " =\t\r\n".utf8.contains($0) }
        guard let quote = value.first, quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") else { return nil }
        return String(decoding: value.dropFirst().prefix { $0 != quote }, as: UTF8.self)
    }

    private static func range(of word: StaticString, in bytes: ArraySlice<UInt8>) -> Range<Int>? {
        let count = word.utf8CodeUnitCount
        guard bytes.count >= count else { return nil }
        return word.withUTF8Buffer { word in
            for start in bytes.startIndex...(bytes.endIndex - count)
            where unsafe bytes[start..<(start + count)].elementsEqual(word) {
                return start..<(start + count)
            }
            return nil
        }
    }
}
