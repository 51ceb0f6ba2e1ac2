/// A path inside the share, as validated bytes: components joined by `/`, no leading or trailing slash, the root empty.
///
/// No component is empty, `.` or `..`, none holds a slash or NUL. This says nothing about what is on the disk: every
/// use goes through ``Share``, which lets the kernel resolve the path beneath the root's descriptor.
public struct SharePath: Hashable, Sendable {
    /// The raw bytes, `a/b/c`; not necessarily UTF-8.
    public let bytes: [UInt8]

    package init(unchecked bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// The directory that is shared.
    public static let root = SharePath(unchecked: [])

    /// Whether this is the shared directory itself.
    public var isRoot: Bool { bytes.isEmpty }
}
