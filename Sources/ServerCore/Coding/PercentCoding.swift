/// Decodes percent-encoding in addresses and forms; ``URICharacters`` encodes.
///
/// RFC 3986 §2.1; WHATWG URL §5.1 for forms.
package enum PercentCoding {
    /// Decodes percent-encoding, once.
    /// - Parameter text: encoded bytes.
    /// - Returns: nil when a `%` is not followed by two hexadecimal digits.
    package static func decode(_ text: some Sequence<UInt8>) -> [UInt8]? {
        var bytes: [UInt8] = []
        var iterator = text.makeIterator()
        while let byte = iterator.next() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let high = iterator.next().flatMap(ASCII.hexValue), let low = iterator.next().flatMap(ASCII.hexValue)
            else { return nil }
            bytes.append(high << 4 | low)
        }
        return bytes
    }

    /// Decodes `application/x-www-form-urlencoded`: `+` is a space, and a `%` without two digits stands for itself.
    package static func decodeForm(_ text: ArraySlice<UInt8>) -> [UInt8] {
        // Not generic, since a form may have megabytes: generic code from another module takes a hundred times as long.
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count)
        var index = text.startIndex
        while index < text.endIndex {
            let byte = text[index]
            index += 1
            if byte == UInt8(ascii: "+") {
                bytes.append(0x20)
            } else if byte == UInt8(ascii: "%"), text.endIndex - index >= 2,
                let high = ASCII.hexValue(text[index]), let low = ASCII.hexValue(text[index + 1])
            {
                bytes.append(high << 4 | low)
                index += 2
            } else {
                bytes.append(byte)
            }
        }
        return bytes
    }

    /// The decoded fields of a form or query, in order; at most `limit` of them.
    /// - Parameters:
    ///   - text: `a=b&c=d`, without the question mark.
    ///   - limit: the number of fields after which the rest is ignored.
    /// - Returns: names and values as raw bytes; a field without `=` has an empty value.
    package static func formFields(
        _ text: some Collection<UInt8>, limit: Int = 100_000
    ) -> [(name: [UInt8], value: [UInt8])] {
        Array(text).split(separator: UInt8(ascii: "&"), maxSplits: limit, omittingEmptySubsequences: true)
            .prefix(limit)
            .map(formField)
    }

    /// One decoded field of a form, `a=b`; its value is empty without `=`.
    package static func formField(_ field: ArraySlice<UInt8>) -> (name: [UInt8], value: [UInt8]) {
        guard let mark = field.firstIndex(of: UInt8(ascii: "=")) else { return (decodeForm(field), []) }
        return (decodeForm(field[..<mark]), decodeForm(field[(mark + 1)...]))
    }
}
