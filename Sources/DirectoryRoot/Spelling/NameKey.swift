/// What a name has in common with every other that some file system would take for it.
///
/// Letters lose their case, what is composed equals what is decomposed, what does not show is left out, and so is what
/// Windows and FAT do not keep at the end of a name. Coarser than any one file system is: two names with one key may be
/// one file, two names with two keys never are. The short names of FAT are another thing: ``SharePath/hasShortNames``.
struct NameKey: Hashable {
    private let text: String
    private let isText: Bool

    /// The key of one component of a path.
    init(_ name: some Collection<UInt8>) {
        let folded = Self.folded(name)
        text = Self.kept(folded.text)
        isText = folded.isText
    }

    /// Whether names like this one are the server's own.
    var isReserved: Bool { text == ReservedName.folder || text.hasPrefix(ReservedName.prefix) }

    /// Whether a file system may take one name for the other.
    static func areAlike(_ one: some Collection<UInt8>, _ other: some Collection<UInt8>) -> Bool {
        let (first, second) = (NameKey(one), NameKey(other))
        if first.isText == second.isText { return first == second }
        // Where one is no UTF-8, the file system has letters of one byte, and may know any two of them for one.
        return kept(bytewise(one)) == kept(bytewise(other))
    }

    /// A name with nothing that only tells spellings apart; letters that are no UTF-8 are all alike.
    static func folded(_ name: some Collection<UInt8>) -> (text: String, isText: Bool) {
        if name.allSatisfy({ $0 < 0x80 }) { return (String(decoding: name.map(lowered), as: UTF8.self), true) }
        guard let text = String(validating: name, as: UTF8.self) else { return (bytewise(name), false) }
        var shown = String.UnicodeScalarView()
        for scalar in text.unicodeScalars where !scalar.properties.isDefaultIgnorableCodePoint { shown.append(scalar) }
        // There and back: letters with one form only in one direction (ß, ſ, ς) end as their equals do.
        return (String(shown).uppercased().lowercased(), true)
    }

    /// The part of a name that names a file where `:` begins a stream of it, and where a network file system writes
    /// what Windows has no letters for in others; without the dots and blanks at its end.
    static func kept(_ folded: String) -> String {
        let scalars = folded.unicodeScalars
        var end = scalars.firstIndex { mark in
            #"":*?<>|"#.unicodeScalars.contains(mark) || (0xF000...0xF0FF).contains(mark.value)
        }
        var rest = scalars[..<(end ?? scalars.endIndex)]
        while let last = rest.last, last == "." || last == " " {
            rest.removeLast()
            end = rest.endIndex
        }
        guard let end else { return folded }
        return String(scalars[..<end])
    }

    /// Whether the key leaves out what stands at the end of a name.
    static func isCut(_ name: some Collection<UInt8>) -> Bool {
        let text = folded(name).text
        return kept(text) != text
    }

    private static func bytewise(_ name: some Collection<UInt8>) -> String {
        String(String.UnicodeScalarView(name.map { $0 < 0x80 ? Unicode.Scalar(lowered($0)) : "\u{FFFD}" }))
    }

    /// A byte without the case of an ASCII letter.
    static func lowered(_ byte: UInt8) -> UInt8 {
        byte >= UInt8(ascii: "A") && byte <= UInt8(ascii: "Z") ? byte | 0x20 : byte
    }

    /// The name with every ASCII letter in its other case; the same where it has none.
    static func swapped(_ name: some Collection<UInt8>) -> [UInt8] {
        name.map { byte in
            let letter = lowered(byte)
            guard letter >= UInt8(ascii: "a"), letter <= UInt8(ascii: "z") else { return byte }
            return byte ^ 0x20
        }
    }

    /// Whether a byte belongs to what a key may leave out or take for something else, other than an ASCII letter.
    static func isOdd(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x80..., UInt8(ascii: "."), UInt8(ascii: " "), UInt8(ascii: ":"), UInt8(ascii: "*"), UInt8(ascii: "?"),
            UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "|"), UInt8(ascii: "\""):
            true
        default: false
        }
    }
}
