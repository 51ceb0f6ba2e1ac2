/// Turns what a client sent into text that can be compared in time proportional to its length.
///
/// Swift compares strings by canonical equivalence, for which it sorts the consecutive combining marks of a letter in
/// quadratic time: sixty thousand bytes of them take a second, and a megabyte minutes, each time that the text is
/// hashed or compared.
package enum TameText {
    /// The most consecutive marks: more than fit in a file's name.
    private static let mostMarks = 128

    /// Decodes the bytes as UTF-8, with replacement characters; if the result is not tame, decodes them as Latin-1.
    package static func text(_ bytes: some Collection<UInt8>) -> String {
        let text = String(decoding: bytes, as: UTF8.self)
        return isTame(text) ? text : latin(bytes)
    }

    /// Decodes the bytes as Latin-1, which has no combining marks.
    static func latin(_ bytes: some Collection<UInt8>) -> String {
        var latin = ""
        for byte in bytes { latin.unicodeScalars.append(Unicode.Scalar(byte)) }
        return latin
    }

    /// Whether no letter of the text has more consecutive marks than people write.
    package static func isTame(_ text: String) -> Bool {
        // Shorter text can't have more.
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
        // Tibetan vowels that are not marks themselves, but decompose into marks.
        case 0xF73, 0xF75, 0xF81: true
        default: scalar.properties.canonicalCombiningClass != .notReordered
        }
    }
}
