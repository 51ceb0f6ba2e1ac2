/// A field's value and its parameters: `form-data; name="a"; filename="b.txt"`.
///
/// RFC 9110 §5.6.6.
///
/// Lenient about what browsers and curl really send in quotes; values are kept as bytes.
package struct HeaderParameters {
    /// The part before the first semicolon, in lower case.
    package let value: [UInt8]
    private var parameters: [(name: [UInt8], value: [UInt8])] = []

    /// The most parameters that are parsed.
    private static let limit = 32

    package init(_ field: some Sequence<UInt8>) {
        var rest = Array(field)[...]
        let head = rest.prefix { $0 != UInt8(ascii: ";") }
        value = ASCII.trimmed(head).map(ASCII.lowercased)
        rest = rest.dropFirst(head.count)
        while rest.popFirst() != nil, parameters.count < Self.limit {
            rest = rest.drop(while: ASCII.isBlank)
            let name = rest.prefix { $0 != UInt8(ascii: "=") && $0 != UInt8(ascii: ";") }
            rest = rest.dropFirst(name.count)
            guard rest.first == UInt8(ascii: "=") else { continue }
            rest = rest.dropFirst().drop(while: ASCII.isBlank)
            let text = rest.first == UInt8(ascii: "\"") ? Self.quoted(&rest) : Self.bare(&rest)
            parameters.append((ASCII.trimmed(name).map(ASCII.lowercased), text))
            rest = rest.drop { $0 != UInt8(ascii: ";") }
        }
    }

    /// The value of the first parameter of that name.
    /// - Parameter name: in lower case.
    package subscript(name: String) -> [UInt8]? {
        parameters.first { $0.name.elementsEqual(name.utf8) }?.value
    }

    /// The parameter `name*`, decoded: `UTF-8''a%20b`.
    ///
    /// RFC 8187 §3.2.
    package func extended(_ name: String) -> [UInt8]? {
        guard let text = self[name + "*"] else { return nil }
        let parts = text.split(separator: UInt8(ascii: "'"), maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, let bytes = PercentCoding.decode(parts[2]) else { return nil }
        if ASCII.equalIgnoringCase(parts[0], "utf-8".utf8) { return bytes }
        guard ASCII.equalIgnoringCase(parts[0], "iso-8859-1".utf8) else { return nil }
        return Array(String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) })).utf8)
    }

    private static func bare(_ rest: inout ArraySlice<UInt8>) -> [UInt8] {
        let word = rest.prefix { $0 != UInt8(ascii: ";") }
        rest = rest.dropFirst(word.count)
        return Array(ASCII.trimmed(word))
    }

    /// Parses a quoted string, in which a backslash escapes only a quote or itself: browsers send names such as `a\b`
    /// unescaped.
    private static func quoted(_ rest: inout ArraySlice<UInt8>) -> [UInt8] {
        var text: [UInt8] = []
        rest = rest.dropFirst()
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "\"") { break }
            guard byte == UInt8(ascii: "\\"), let next = rest.first else {
                text.append(byte)
                continue
            }
            // A backslash at the very end of a name, which does not escape the closing quote.
            let isLast = next == UInt8(ascii: "\"") && rest.dropFirst().allSatisfy(ASCII.isBlank)
            if !isLast, next == UInt8(ascii: "\"") || next == UInt8(ascii: "\\") {
                text.append(next)
                rest = rest.dropFirst()
            } else {
                text.append(byte)
            }
        }
        return text
    }
}
