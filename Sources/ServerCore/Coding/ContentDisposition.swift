internal import DirectoryRoot

/// The `Content-Disposition` of a download.
///
/// RFC 6266, with the extended value of RFC 8187.
package enum ContentDisposition {
    /// `attachment` with a file name that every client understands.
    ///
    /// The plain `filename` holds only harmless ASCII; `filename*` gives the true name if that differs. Control
    /// characters, and those that change the text direction, which would show `gpj.exe` as `exe.jpg`, become `_` in
    /// both.
    /// - Parameter filename: the raw bytes of one name; anything that is not UTF-8 becomes U+FFFD.
    /// - Returns: the field's value, ASCII only.
    package static func attachment(filename: some Collection<UInt8>) -> String {
        field("attachment", filename: filename)
    }

    /// `inline` with a file name, for content that a browser displays and may then save.
    /// - Parameter filename: the raw bytes of one name.
    /// - Returns: the field's value, ASCII only.
    package static func inline(filename: some Collection<UInt8>) -> String {
        field("inline", filename: filename)
    }

    private static func field(_ kind: String, filename: some Collection<UInt8>) -> String {
        var name = ""
        for scalar in String(decoding: filename, as: UTF8.self).unicodeScalars {
            name.unicodeScalars.append(isHarmful(scalar) ? "_" : scalar)
        }
        var plain = ""
        for scalar in name.unicodeScalars { plain.unicodeScalars.append(isPlain(scalar) ? scalar : "_") }
        let value = "\(kind); filename=\"\(plain)\""
        guard plain != name else { return value }
        // Every `unreserved` character is an `attr-char` of RFC 8187 §3.2.1.
        return value + "; filename*=UTF-8''" + URICharacters.unreserved.text(Array(name.utf8))
    }

    private static func isPlain(_ scalar: Unicode.Scalar) -> Bool {
        // A percent sign before two digits is decoded by some clients; quote and backslash end or escape the string.
        scalar.isASCII && scalar.value >= 0x20 && scalar != "\"" && scalar != "\\" && scalar != "%" && scalar != "/"
    }

    private static func isHarmful(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<0x20, 0x7F..<0xA0, 0x2F, 0x061C, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069: true
        default: false
        }
    }
}
