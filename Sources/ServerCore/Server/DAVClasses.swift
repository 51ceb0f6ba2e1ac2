/// What a server says that it keeps to of WebDAV.
///
/// RFC 4918 §18.
package enum DAVClasses {
    /// The value of the field `DAV`.
    package static func field(isReadOnly: Bool) -> String {
        // Locks need a place to be kept, and a read-only share has none.
        isReadOnly ? "1, 3" : "1, 2, 3"
    }
}
