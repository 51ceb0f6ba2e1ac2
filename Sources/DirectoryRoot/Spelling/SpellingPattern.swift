import CSyscalls

/// A shell pattern that matches a name in every spelling by which a file system may know it.
struct SpellingPattern: Sendable {
    private let pattern: String
    /// The pattern's characters beyond ASCII, each encoded as one byte: the C library compares bytes, and one character
    /// may consist of several code points.
    private let letters: [Character: UInt8]
    /// Whether the pattern matches nothing more than it does as written, among names that have one spelling only.
    let isPlain: Bool

    init(_ pattern: String) {
        var folded = NameKey.folded(pattern.utf8).text
        // After folding, a letter's case is lost.
        for name in ["[:upper:]", "[:lower:]"] { folded = folded.replacing(name, with: "[:alpha:]") }
        var letters: [Character: UInt8] = [:]
        for letter in folded where !letter.isASCII && letters[letter] == nil {
            letters[letter] = UInt8(1 + letters.count % 30)
        }
        self.letters = letters
        isPlain = folded == pattern && letters.isEmpty
        self.pattern = Self.encoded(folded, letters)
    }

    /// Whether the pattern matches a name that was folded by ``NameKey/folded(_:)``.
    func takes(_ folded: String) -> Bool {
        let name = Array(Self.encoded(folded, letters).utf8)
        return unsafe name.withUnsafeBytes { unsafe sys_matches(pattern, $0.baseAddress, $0.count) == 1 }
    }

    private static func encoded(_ text: String, _ letters: [Character: UInt8]) -> String {
        if text.utf8.allSatisfy({ $0 < 0x80 }) { return text }
        let bytes = text.map { letter in letter.asciiValue ?? letters[letter] ?? 31 }
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// All patterns of hidden names, for matching names in other spellings.
struct HiddenSpellings: Sendable {
    private let patterns: [SpellingPattern]
    private let arePlain: Bool

    init(_ hidden: [String]) {
        patterns = hidden.map { SpellingPattern($0) }
        arePlain = patterns.allSatisfy(\.isPlain)
    }

    /// Whether some name in `path` that is not hidden as written is hidden in another spelling, which the disk may take
    /// for the same.
    func mayHave(_ path: SharePath) -> Bool {
        !patterns.isEmpty && path.components.contains { mayHave(name: $0) }
    }

    /// The same for one name.
    func mayHave(name: some BidirectionalCollection<UInt8>) -> Bool {
        guard !patterns.isEmpty else { return false }
        if arePlain, name.last != UInt8(ascii: "."), name.allSatisfy(Self.isPlain) { return false }
        let folded = NameKey.folded(name).text
        let kept = NameKey.kept(folded)
        return patterns.contains { $0.takes(folded) || $0.takes(kept) }
    }

    /// A name of such bytes folds to itself, and was already compared with plain patterns.
    private static func isPlain(_ byte: UInt8) -> Bool {
        byte == NameKey.lowered(byte) && (byte == UInt8(ascii: ".") || !NameKey.isOdd(byte))
    }
}
