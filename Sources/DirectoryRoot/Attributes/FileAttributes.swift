/// What one `statx` reports about a file or directory; other kinds of files do not exist in a share.
public struct FileAttributes: Hashable, Sendable {
    /// The two kinds of things in a share.
    public enum Kind: UInt8, Sendable {
        /// A regular file.
        case file
        /// A directory.
        case directory
    }

    /// File or directory.
    public var kind: Kind
    /// In bytes; for a directory, whatever the file system reports.
    public var size: Int64
    /// When the content changed last.
    public var modified: Timestamp
    /// Birth time, where the file system keeps one.
    public var created: Timestamp?
    /// When the content was read last, as far as the file system keeps it.
    public var accessed: Timestamp
    /// The file's number on its file system.
    public var inode: UInt64
    /// The file system's number.
    public var device: UInt64
    /// `st_ctime`: also changes when an attribute is set; used to skip reading attributes, never sent.
    public var changed: Timestamp

    /// All of them as given.
    public init(
        kind: Kind, size: Int64, modified: Timestamp, created: Timestamp?, accessed: Timestamp, changed: Timestamp,
        inode: UInt64, device: UInt64
    ) {
        self.kind = kind
        self.size = size
        self.modified = modified
        self.created = created
        self.accessed = accessed
        self.changed = changed
        self.inode = inode
        self.device = device
    }

    /// Whether this is a directory.
    public var isDirectory: Bool { kind == .directory }

    /// The strong validator of this content.
    ///
    /// RFC 9110 §8.8.3.
    public var entityTag: EntityTag { EntityTag(self) }
}
