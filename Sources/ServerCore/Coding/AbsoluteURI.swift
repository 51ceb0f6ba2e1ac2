/// The minimum that a state token must have: a scheme, a colon, and something after it, without blanks or brackets.
///
/// RFC 3986 §4.3.
package enum AbsoluteURI {
    package static func isValid(_ text: String) -> Bool {
        guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")), colon != text.utf8.startIndex,
            text.utf8.index(after: colon) != text.utf8.endIndex
        else { return false }
        guard let first = text.utf8.first, ASCII.isLetter(first) else { return false }
        let schemeIsRight = text.utf8[..<colon].allSatisfy { byte in
            ASCII.isLetter(byte) || ASCII.isDigit(byte) || byte == UInt8(ascii: "+")
                || byte == UInt8(ascii: "-") || byte == UInt8(ascii: ".")
        }
        return schemeIsRight
            && text.utf8.allSatisfy {
                $0 > 0x20 && $0 != 0x7F && $0 != UInt8(ascii: "<") && $0 != UInt8(ascii: ">")
                    && $0 != UInt8(ascii: "\"")
            }
    }
}
