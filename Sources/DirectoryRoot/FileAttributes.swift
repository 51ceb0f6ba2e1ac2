/// A point in time as file systems keep it.
public struct Timestamp: Hashable, Comparable, Sendable {
    /// Seconds since 1970-01-01T00:00:00Z.
    public var seconds: Int64
    /// 0 ..< 1,000,000,000.
    public var nanoseconds: Int32

    /// A point in time from its two parts.
    public init(seconds: Int64, nanoseconds: Int32 = 0) {
        self.seconds = seconds
        self.nanoseconds = nanoseconds
    }

    /// Whether `a` is earlier.
    public static func < (a: Timestamp, b: Timestamp) -> Bool {
        (a.seconds, a.nanoseconds) < (b.seconds, b.nanoseconds)
    }
}

/// What one `statx` says of a file or directory; other kinds of files do not exist in a share.
public struct FileAttributes: Hashable, Sendable {
    /// The two kinds of things in a share.
    public enum Kind: UInt8, Sendable {
        case file
        case directory
    }

    /// File or directory.
    public var kind: Kind
    /// Bytes; of a directory, whatever the file system says.
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
    /// Changes on setting an attribute; used to skip reading attributes, never sent.
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

/// A strong entity tag: size, modification time to the nanosecond, inode and (where kept) birth time.
///
/// RFC 9110 §8.8.3. Uploads stamp their files with the clock's full nanoseconds, so two contents written through the server within one
/// kernel tick differ too.
public struct EntityTag: Hashable, Sendable {
    private let size: Int64
    private let seconds: Int64
    private let nanoseconds: Int32
    private let inode: UInt64
    private let birth: Int64

    init(_ attributes: FileAttributes) {
        size = attributes.size
        seconds = attributes.modified.seconds
        nanoseconds = attributes.modified.nanoseconds
        inode = attributes.inode
        birth = attributes.created.map { $0.seconds &* 1_000_000_000 &+ Int64($0.nanoseconds) } ?? 0
    }

    /// Appends the quoted tag as it stands in an `ETag` field: 2 to 40 ASCII characters.
    public func write(to buffer: inout [UInt8]) {
        buffer.append(UInt8(ascii: "\""))
        Self.hex(inode, to: &buffer)
        buffer.append(UInt8(ascii: "-"))
        Self.hex(UInt64(bitPattern: size), to: &buffer)
        buffer.append(UInt8(ascii: "-"))
        Self.hex(UInt64(bitPattern: seconds &* 1_000_000_000 &+ Int64(nanoseconds)), to: &buffer)
        if birth != 0 {
            buffer.append(UInt8(ascii: "-"))
            // Only its low half: enough to tell two inodes that were given the same number apart.
            Self.hex(UInt64(bitPattern: birth) & 0xFFFF_FFFF, to: &buffer)
        }
        buffer.append(UInt8(ascii: "\""))
    }

    /// The quoted tag as text.
    public var text: String {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(48)
        write(to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func hex(_ value: UInt64, to buffer: inout [UInt8]) {
        var shift = max(0, (63 - value.leadingZeroBitCount) / 4 * 4)
        if value == 0 { shift = 0 }
        while shift >= 0 {
            let digit = UInt8((value >> UInt64(shift)) & 15)
            buffer.append(digit < 10 ? digit + 48 : digit + 87)
            shift -= 4
        }
    }
}
