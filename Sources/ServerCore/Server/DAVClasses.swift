/// The WebDAV compliance classes of a server.
///
/// RFC 4918 §18.
package enum DAVClasses {
    /// The value of the `DAV` field.
    package static func field(isReadOnly: Bool) -> String {
        // Locks must be stored, and a read-only share has no place for them.
        isReadOnly ? "1, 3" : "1, 2, 3"
    }
}
