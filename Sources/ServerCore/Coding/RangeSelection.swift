/// Which bytes of a representation a `Range` field asks for.
///
/// RFC 9110 §14.1.2, §14.2. A field that is malformed, has another unit, or requests too many spans is ignored, as the
/// RFC allows: the whole representation is sent. Overlapping spans are merged, so that a thousand of them cost no more
/// than one.
package enum RangeSelection: Equatable, Sendable {
    /// No span: respond with the whole representation, 200.
    case whole
    /// Half-open spans inside the representation, none empty, no two overlapping; 206.
    case spans([Range<Int64>])
    /// Well-formed, but every span begins past the end; 416.
    case unsatisfiable

    /// The most spans that are served by default.
    package static let limit = 64

    /// Parses a field's value.
    /// - Parameters:
    ///   - field: `bytes=0-99,200-`.
    ///   - size: the representation's length in bytes, not negative.
    ///   - limit: the most spans that are served.
    package init(field: some StringProtocol, size: Int64, limit: Int = Self.limit) {
        self = Self.parse(Array(field.utf8)[...], size: size, limit: limit)
    }

    private static func parse(_ field: ArraySlice<UInt8>, size: Int64, limit: Int) -> RangeSelection {
        let halves = field.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
        guard halves.count == 2, ASCII.equalIgnoringCase(ASCII.trimmed(halves[0]), "bytes".utf8) else { return .whole }
        let limit = min(max(0, limit), .max - 1)
        let specifiers = halves[1].split(separator: UInt8(ascii: ","), maxSplits: limit + 1)
            .map(ASCII.trimmed).filter { !$0.isEmpty }
        guard !specifiers.isEmpty, specifiers.count <= limit else { return .whole }
        var spans: [Range<Int64>] = []
        for specifier in specifiers {
            switch span(specifier, size: size) {
            case .malformed: return .whole
            case .outside: continue
            case .inside(let span): spans.append(span)
            case .everything: return .whole
            }
        }
        return spans.isEmpty ? .unsatisfiable : .spans(merged(spans))
    }

    private enum Specifier {
        case malformed
        case outside
        case inside(Range<Int64>)
        case everything
    }

    private static func span(_ specifier: ArraySlice<UInt8>, size: Int64) -> Specifier {
        guard let dash = specifier.firstIndex(of: UInt8(ascii: "-")) else { return .malformed }
        let first = specifier[..<dash]
        let last = specifier[(dash + 1)...]
        if first.isEmpty {
            guard let suffix = position(last) else { return .malformed }
            guard suffix > 0 else { return .outside }
            // A 206 response can't express a part of an empty representation.
            return size == 0 ? .everything : .inside((size - min(suffix, size))..<size)
        }
        guard let start = position(first) else { return .malformed }
        // Some clients request the whole of each file by a range.
        if size == 0, start == 0, last.isEmpty { return .everything }
        guard !last.isEmpty else { return start < size ? .inside(start..<size) : .outside }
        guard let end = position(last), end >= start else { return .malformed }
        guard start < size else { return .outside }
        return .inside(start..<(min(end, size - 1) + 1))
    }

    /// A position of any number of digits; what exceeds the largest integer is past every end too.
    private static func position(_ digits: ArraySlice<UInt8>) -> Int64? {
        guard !digits.isEmpty, digits.allSatisfy(ASCII.isDigit) else { return nil }
        return ASCII.decimal(digits) ?? Int64.max
    }

    private static func merged(_ spans: [Range<Int64>]) -> [Range<Int64>] {
        let sorted = spans.sorted { $0.lowerBound < $1.lowerBound }
        var result: [Range<Int64>] = []
        for span in sorted {
            if let last = result.last, span.lowerBound <= last.upperBound {
                result[result.count - 1] = last.lowerBound..<max(last.upperBound, span.upperBound)
            } else {
                result.append(span)
            }
        }
        // Without overlaps, the client's own order is kept.
        return result.count == spans.count ? spans : result
    }
}
