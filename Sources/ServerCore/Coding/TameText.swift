/// Makes text of what a client sent, such that comparing it costs no more than its bytes are worth.
///
/// To Swift two texts are the same that compose the same letters in different ways, and to find that out it sorts the
/// marks that stand one behind the other on a letter: in a time that grows with the square of their number, so that
/// sixty thousand bytes of them take a second and a megabyte minutes, each time that the text is hashed or compared.
package enum TameText {
    /// The most marks in a row: more than a file's name has room for.
    private static let mostMarks = 128

    /// The bytes as UTF-8, with what is none replaced; where that is not tame, each byte as the character of that
    /// number.
    package static func text(_ bytes: some Collection<UInt8>) -> String {
        let text = String(decoding: bytes, as: UTF8.self)
        return isTame(text) ? text : latin(bytes)
    }

    /// Each byte as the character of that number: none of these is a mark.
    static func latin(_ bytes: some Collection<UInt8>) -> String {
        var latin = ""
        for byte in bytes { latin.unicodeScalars.append(Unicode.Scalar(byte)) }
        return latin
    }

    /// Whether no letter of the text has more marks than any that people write.
    package static func isTame(_ text: String) -> Bool {
        // Shorter text has no room for more.
        guard text.utf8.count > 2 * mostMarks else { return true }
        var marks = 0
        for scalar in text.unicodeScalars {
            marks = isMark(scalar) ? marks + 1 : 0
            if marks > mostMarks { return false }
        }
        return true
    }

    private static func isMark(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case ..<0x300: false
        // Tibetan vowels that are none, but are taken apart into marks.
        case 0xF73, 0xF75, 0xF81: true
        default: scalar.properties.canonicalCombiningClass != .notReordered
        }
    }
}
