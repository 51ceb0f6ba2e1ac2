/// The two types of structured fields that resumable uploads use.
///
/// RFC 9651 §3.3.
///
/// A field with another type of value is ignored, as the drafts require.
package enum StructuredField {
    /// A Boolean item, `?0` or `?1`; parameters are ignored.
    package static func boolean(_ field: String?) -> Bool? {
        switch field.map(item) {
        case "?1": true
        case "?0": false
        default: nil
        }
    }

    /// A non-negative Integer item of at most 15 digits.
    package static func integer(_ field: String?) -> Int64? {
        guard let text = field.map(item), text.utf8.count <= 15 else { return nil }
        return ASCII.decimal(text.utf8)
    }

    private static func item(_ field: String) -> String {
        let bare = field.utf8.prefix { $0 != UInt8(ascii: ";") }
        return String(decoding: ASCII.trimmed(Array(bare)), as: UTF8.self)
    }
}

extension RequestFields {
    /// Whether the request begins or continues an upload in parts: it states explicitly whether its content completes
    /// one.
    ///
    /// draft-ietf-httpbis-resumable-upload; `Upload-Incomplete` in the older versions.
    package var tellsCompleteness: Bool {
        ["upload-complete", "upload-incomplete"].contains { StructuredField.boolean(self[$0]) != nil }
    }
}
