/// The tests and conversions of ASCII bytes that all header grammars use.
///
/// RFC 9110 §5.6.
package enum ASCII {
    /// Whether a byte is allowed in a token.
    ///
    /// The set is two words of bits: no table in memory, no bounds check. RFC 9110 §5.6.2.
    @inline(__always)
    package static func isToken(_ byte: UInt8) -> Bool {
        // `!#$%&'*+-.` and digits; then ``^_`|~`` and letters.
        let low: UInt64 = 0x03FF_6CFA_0000_0000
        let high: UInt64 = 0x57FF_FFFF_C7FF_FFFE
        if byte < 64 { return (low >> UInt64(byte)) & 1 != 0 }
        return byte < 128 && (high >> UInt64(byte & 63)) & 1 != 0
    }

    /// Space or tab.
    package static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

    package static func isDigit(_ byte: UInt8) -> Bool { byte >= 0x30 && byte <= 0x39 }

    package static func isLetter(_ byte: UInt8) -> Bool {
        let low = byte | 0x20
        return low >= 0x61 && low <= 0x7A
    }

    /// The value of a hexadecimal digit; nil for another byte.
    package static func hexValue(_ byte: UInt8) -> UInt8? {
        switch byte {
        case 0x30...0x39: byte - 0x30
        case 0x41...0x46: byte - 0x37
        case 0x61...0x66: byte - 0x57
        default: nil
        }
    }

    /// The letter in lower case; other bytes as they are.
    package static func lowercased(_ byte: UInt8) -> UInt8 {
        byte >= 0x41 && byte <= 0x5A ? byte | 0x20 : byte
    }

    /// Whether two byte strings are equal, ignoring the case of ASCII letters.
    package static func equalIgnoringCase(
        _ a: some Sequence<UInt8>, _ b: some Sequence<UInt8>
    ) -> Bool {
        a.elementsEqual(b) { lowercased($0) == lowercased($1) }
    }

    /// `text` without leading and trailing blanks.
    package static func trimmed<Text: BidirectionalCollection<UInt8>>(_ text: Text) -> Text.SubSequence {
        var rest = text[...]
        while let first = rest.first, isBlank(first) { rest.removeFirst() }
        while let last = rest.last, isBlank(last) { rest.removeLast() }
        return rest
    }

    /// The value of a decimal number; nil when it is empty, has any other byte than digits, or exceeds `Int64.max`.
    package static func decimal(_ digits: some Sequence<UInt8>) -> Int64? {
        var value: Int64 = 0
        var count = 0
        for byte in digits {
            guard isDigit(byte) else { return nil }
            let (product, overflow) = value.multipliedReportingOverflow(by: 10)
            let (sum, carried) = product.addingReportingOverflow(Int64(byte - 0x30))
            guard !overflow, !carried else { return nil }
            value = sum
            count += 1
        }
        return count > 0 ? value : nil
    }
}
