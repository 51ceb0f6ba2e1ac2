/// Security fields of every response: do not sniff the type, allow no framing, send no referrer to other sites, run
/// nothing.
///
/// A field that a response sets itself is kept.
package enum SecurityFields {
    /// For responses that are neither pages nor files.
    private static let policy = "default-src 'none'; frame-ancestors 'none'"

    /// Not `no-referrer`: with that, browsers send `Origin: null` with our own forms.
    package static let referrerPolicy = "same-origin"

    private static let all: ResponseFields = [
        "X-Content-Type-Options": "nosniff", "Referrer-Policy": referrerPolicy, "Content-Security-Policy": policy,
        "X-Frame-Options": "DENY",
    ]
    private static let lengths = all.lines.reduce(UInt64(0)) { $0 | mark($1.name) }

    private static func mark(_ name: String) -> UInt64 { 1 << UInt64(truncatingIfNeeded: name.utf8.count & 63) }

    /// Adds the missing fields.
    package static func add(to fields: inout ResponseFields) {
        // Most responses set none of these fields themselves.
        guard fields.lines.contains(where: { lengths & mark($0.name) != 0 }) else { return fields.add(all) }
        if !fields.contains("X-Content-Type-Options") { fields.add("X-Content-Type-Options", "nosniff") }
        if !fields.contains("Referrer-Policy") { fields.add("Referrer-Policy", referrerPolicy) }
        if !fields.contains("Content-Security-Policy") {
            fields.add("Content-Security-Policy", policy)
            if !fields.contains("X-Frame-Options") { fields.add("X-Frame-Options", "DENY") }
        }
    }
}
