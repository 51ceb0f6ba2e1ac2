import CSyscalls

/// A shell pattern that takes a name in every spelling that a file system may know it by.
struct SpellingPattern: Sendable {
    private let pattern: String
    /// The letters beyond ASCII that the pattern has, each as a byte of its own: the C library compares bytes, and one
    /// letter may be composed of several.
    private let letters: [Character: UInt8]
    /// Whether the pattern takes nothing else than it does as written, of names that have one spelling only.
    let isPlain: Bool

    init(_ pattern: String) {
        var folded = NameKey.folded(pattern.utf8).text
        // A letter's case is gone.
        for name in ["[:upper:]", "[:lower:]"] { folded = folded.replacing(name, with: "[:alpha:]") }
        var letters: [Character: UInt8] = [:]
        for letter in folded where !letter.isASCII && letters[letter] == nil {
            letters[letter] = UInt8(1 + letters.count % 30)
        }
        self.letters = letters
        isPlain = folded == pattern && letters.isEmpty
        self.pattern = Self.encoded(folded, letters)
    }

    /// Whether the pattern takes a name that ``NameKey/folded(_:)`` gave.
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

/// All patterns of hidden names, for names in other spellings.
struct HiddenSpellings: Sendable {
    private let patterns: [SpellingPattern]
    private let arePlain: Bool

    init(_ hidden: [String]) {
        patterns = hidden.map { SpellingPattern($0) }
        arePlain = patterns.allSatisfy(\.isPlain)
    }

    /// Whether some name in `path` that is shown as it is written is hidden in another spelling, which may be the same
    /// to the disk.
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

    /// A name of such bytes is compared with patterns that are alike as it is, and that was done.
    private static func isPlain(_ byte: UInt8) -> Bool {
        byte == NameKey.lowered(byte) && (byte == UInt8(ascii: ".") || !NameKey.isOdd(byte))
    }
}
