/// The value of `If-Match`, `If-None-Match`, or the tag of an `If-Range`.
///
/// RFC 9110 §13.1.1. Joplin and others send tags without quotes: such a word is taken as the tag's inside.
package enum EntityTagList: Equatable, Sendable {
    /// `*`: any representation, as long as there is one.
    case any
    /// The listed tags.
    case tags([Tag])

    /// One tag of a list.
    package struct Tag: Equatable, Sendable {
        /// Begins with `W/`: says less than that each byte is the same.
        package var isWeak: Bool
        /// What is between the quotes.
        package var opaque: [UInt8]
    }

    /// Parses a field's value; what cannot be a tag is left out, and then matches nothing.
    package init(field: some StringProtocol) {
        var rest = ASCII.trimmed(Array(field.utf8))
        guard !rest.elementsEqual("*".utf8) else {
            self = .any
            return
        }
        var tags: [Tag] = []
        while !rest.isEmpty {
            if rest.first == UInt8(ascii: ",") || rest.first.map(ASCII.isBlank) == true {
                rest.removeFirst()
                continue
            }
            if let tag = Self.tag(&rest) { tags.append(tag) }
        }
        self = .tags(tags)
    }

    /// Whether `tag`, quoted and perhaps weak, is meant, by weak comparison: the insides are the same.
    ///
    /// RFC 9110 §8.8.3.2.
    package func matchesWeakly(_ tag: String) -> Bool {
        guard case .tags(let tags) = self else { return true }
        let inside = Self.inside(of: tag)
        return tags.contains { inside.opaque.elementsEqual($0.opaque) }
    }

    /// Whether `tag` is meant, by strong comparison: the same inside, and neither is weak.
    package func matchesStrongly(_ tag: String) -> Bool {
        guard case .tags(let tags) = self else { return true }
        let inside = Self.inside(of: tag)
        return !inside.isWeak && tags.contains { !$0.isWeak && inside.opaque.elementsEqual($0.opaque) }
    }

    /// As bytes: a string's characters take ten times as long.
    private static func inside(of tag: String) -> (isWeak: Bool, opaque: ArraySlice<UInt8>) {
        let bytes = Array(tag.utf8)
        let isWeak = bytes.starts(with: "W/".utf8)
        return (isWeak, bytes.dropFirst(isWeak ? 3 : 1).dropLast())
    }

    private static func tag(_ rest: inout ArraySlice<UInt8>) -> Tag? {
        var isWeak = false
        if rest.starts(with: "W/\"".utf8) || rest.starts(with: "w/\"".utf8) {
            isWeak = true
            rest.removeFirst(2)
        }
        guard rest.first == UInt8(ascii: "\"") else {
            let word = rest.prefix { $0 != UInt8(ascii: ",") }
            rest.removeFirst(word.count)
            return Tag(isWeak: false, opaque: Array(ASCII.trimmed(word)))
        }
        rest.removeFirst()
        guard let end = rest.firstIndex(of: UInt8(ascii: "\"")) else {
            rest = []
            return nil
        }
        defer { rest = rest[(end + 1)...] }
        return Tag(isWeak: isWeak, opaque: Array(rest[..<end]))
    }
}
