package import DirectoryRoot

/// The fields of a plain 200 response for one file, except `Date` and those that the connection sets.
package struct FileHead: Sendable {
    /// The media type.
    package let type: MediaType
    private let attributes: FileAttributes
    private let policy: StaticString

    /// Composes the fields from the result of one `statx`.
    /// - Parameters:
    ///   - attributes: of the open file.
    ///   - name: the raw bytes of its name.
    ///   - isFramed: whether a page of ours will show it in a frame; granted for PDF only.
    package init(of attributes: FileAttributes, name: some Collection<UInt8>, isFramed: Bool = false) {
        self.attributes = attributes
        type = MediaType(filename: name)
        policy = ContentPolicy.field(for: type, isFramed: isFramed)
    }

    /// The fields, in the order in which they are sent.
    /// - Parameters:
    ///   - tag: the entity tag of a variant other than the file itself.
    ///   - saysType: false when nothing is sent to which the type would apply.
    /// - Returns: the fields.
    package func fields(tag: String? = nil, saysType: Bool = true) -> ResponseFields {
        var fields = ResponseFields(capacity: 12)
        if saysType { fields.add("Content-Type", type.name) }
        fields.add("ETag", tag ?? attributes.entityTag.text)
        fields.add("Last-Modified", HTTPDate.text(lastModified))
        fields.add("Accept-Ranges", "bytes")
        fields.add("Cache-Control", "no-cache")
        fields.add("X-Content-Type-Options", "nosniff")
        fields.add("Content-Security-Policy", "\(policy)")
        if type.isCompressible { fields.add("Vary", "Accept-Encoding") }
        return fields
    }

    /// Never later than the response's own date.
    ///
    /// RFC 9110 §8.8.2.1.
    private var lastModified: Int64 { min(attributes.modified.seconds, HTTPDate.now) }
}

/// What an uploaded file may do when a browser shows it on our origin: show itself, and nothing else.
///
/// No script runs. The sandbox also removes the origin; players and the browsers' PDF viewers do not work in one, and
/// can't run a page's script, so they get the same rules without it.
package enum ContentPolicy {
    /// The `Content-Security-Policy` of a file of that type.
    ///
    /// A PDF requested with `?view` may be in a frame of our own page: a copy of it in a `blob:` address would inherit
    /// the page's `frame-ancestors 'none'`, which WebKit enforces on it. Uploaded pages on our origin are sandboxed,
    /// and so have another origin.
    package static func field(for type: MediaType, isFramed: Bool) -> StaticString {
        if type.name == "application/pdf" {
            return isFramed
                ? "script-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
                : "script-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        }
        if type.name.hasPrefix("video/") || type.name.hasPrefix("audio/") {
            return """
                default-src 'none'; media-src 'self'; img-src 'self'; style-src 'unsafe-inline'; base-uri 'none'; \
                form-action 'none'; frame-ancestors 'none'
                """
        }
        return """
            sandbox; default-src 'none'; img-src 'self' data:; media-src 'self' data:; font-src 'self' data:; \
            style-src 'self' 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'
            """
    }
}
