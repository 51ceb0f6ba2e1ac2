/// What every answer tells a browser: take it for what it says it is, put it into nobody's frame, tell nobody where you
/// came from, run nothing in it.
///
/// An answer that says otherwise itself keeps what it says.
package enum SecurityFields {
    /// For what is no page and no stranger's file.
    private static let policy = "default-src 'none'; frame-ancestors 'none'"

    /// Not `no-referrer`: under it, browsers send `Origin: null` with our own forms.
    package static let referrerPolicy = "same-origin"

    /// Adds what is missing.
    package static func dress(_ fields: inout ResponseFields) {
        if !fields.contains("X-Content-Type-Options") { fields.add("X-Content-Type-Options", "nosniff") }
        if !fields.contains("Referrer-Policy") { fields.add("Referrer-Policy", referrerPolicy) }
        if !fields.contains("Content-Security-Policy") {
            fields.add("Content-Security-Policy", policy)
            if !fields.contains("X-Frame-Options") { fields.add("X-Frame-Options", "DENY") }
        }
    }
}
