/// A key that is equal for all names that some file system would take for the same.
///
/// Case is folded, composed and decomposed letters become equal, invisible characters are left out, and so is what
/// Windows and FAT drop at the end of a name. Coarser than any single file system: two names with one key may be one
/// file, two names with different keys never are. FAT's short names are a separate matter: ``SharePath/hasShortNames``.
struct NameKey: Hashable {
    private let text: String
    private let isText: Bool

    /// The key of one component of a path.
    init(_ name: some Collection<UInt8>) {
        let folded = Self.folded(name)
        text = Self.kept(folded.text)
        isText = folded.isText
    }

    /// Whether names with this key are reserved for the server.
    var isReserved: Bool { text == ReservedName.folder || text.hasPrefix(ReservedName.prefix) }

    /// Whether a file system may take one name for the other.
    static func areAlike(_ one: some Collection<UInt8>, _ other: some Collection<UInt8>) -> Bool {
        let (first, second) = (NameKey(one), NameKey(other))
        if first.isText == second.isText { return first == second }
        // If one is not UTF-8, the file system uses a single-byte character set, and may take any two of its letters
        // for one.
        return kept(bytewise(one)) == kept(bytewise(other))
    }

    /// A name without what merely distinguishes spellings; bytes that are not UTF-8 all become the same letter.
    static func folded(_ name: some Collection<UInt8>) -> (text: String, isText: Bool) {
        if name.allSatisfy({ $0 < 0x80 }) { return (String(decoding: name.map(lowered), as: UTF8.self), true) }
        guard let text = String(validating: name, as: UTF8.self) else { return (bytewise(name), false) }
        var shown = String.UnicodeScalarView()
        for scalar in text.unicodeScalars where !scalar.properties.isDefaultIgnorableCodePoint { shown.append(scalar) }
        // Both ways: letters with a mapping in one direction only (ß, ſ, ς) end up equal to their counterparts.
        return (String(shown).uppercased().lowercased(), true)
    }

    /// The part of a name that identifies a file: cut at `:`, which begins a stream's name, and at the characters that
    /// a network file system substitutes for those that Windows can't store; without trailing dots and blanks.
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

    /// Whether the key leaves out characters at the end of a name.
    static func isCut(_ name: some Collection<UInt8>) -> Bool {
        let text = folded(name).text
        return kept(text) != text
    }

    private static func bytewise(_ name: some Collection<UInt8>) -> String {
        String(String.UnicodeScalarView(name.map { $0 < 0x80 ? Unicode.Scalar(lowered($0)) : "\u{FFFD}" }))
    }

    /// A byte with the case of an ASCII letter folded.
    static func lowered(_ byte: UInt8) -> UInt8 {
        byte >= UInt8(ascii: "A") && byte <= UInt8(ascii: "Z") ? byte | 0x20 : byte
    }

    /// The name with the case of every ASCII letter swapped; the same name when it has none.
    static func swapped(_ name: some Collection<UInt8>) -> [UInt8] {
        name.map { byte in
            let letter = lowered(byte)
            guard letter >= UInt8(ascii: "a"), letter <= UInt8(ascii: "z") else { return byte }
            return byte ^ 0x20
        }
    }

    /// Whether a byte, other than an ASCII letter, belongs to something that a key may leave out or fold.
    static func isOdd(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x80..., UInt8(ascii: "."), UInt8(ascii: " "), UInt8(ascii: ":"), UInt8(ascii: "*"), UInt8(ascii: "?"),
            UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "|"), UInt8(ascii: "\""):
            true
        default: false
        }
    }
}
