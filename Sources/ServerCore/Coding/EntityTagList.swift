/// The value of `If-Match`, `If-None-Match`, or the tag of an `If-Range`.
///
/// RFC 9110 §13.1.1. Joplin and others send tags without quotes: such a word is taken as the opaque part of a tag.
package enum EntityTagList: Equatable, Sendable {
    /// `*`: any representation, if one exists.
    case any
    /// The listed tags.
    case tags([Tag])

    /// One tag of a list.
    package struct Tag: Equatable, Sendable {
        /// Begins with `W/`: a weak validator, which does not guarantee identical bytes.
        package var isWeak: Bool
        /// What is between the quotes.
        package var opaque: [UInt8]
    }

    /// Parses a field's value; what can't be a tag is left out, and matches nothing.
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

    /// Whether `tag`, quoted and perhaps weak, is listed, by weak comparison: the opaque parts are equal.
    ///
    /// RFC 9110 §8.8.3.2.
    package func matchesWeakly(_ tag: String) -> Bool {
        guard case .tags(let tags) = self else { return true }
        let inside = Self.inside(of: tag)
        return tags.contains { inside.opaque.elementsEqual($0.opaque) }
    }

    /// Whether `tag` is listed, by strong comparison: the opaque parts are equal, and neither tag is weak.
    package func matchesStrongly(_ tag: String) -> Bool {
        guard case .tags(let tags) = self else { return true }
        let inside = Self.inside(of: tag)
        return !inside.isWeak && tags.contains { !$0.isWeak && inside.opaque.elementsEqual($0.opaque) }
    }

    /// Works on bytes: a string's characters would take ten times as long.
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
