/// A path inside the share, as validated bytes: components joined by `/`, no leading or trailing slash, the root empty.
///
/// No component is empty, `.` or `..`; none contains a slash or NUL or is longer than 255 bytes; the whole path is at
/// most 4,095 bytes. This says nothing about what is on the disk: every use goes through ``Share``, which lets the
/// kernel resolve the path beneath the root's descriptor. Two paths are equal when their bytes are.
public struct SharePath: Hashable, Sendable {
    /// The raw bytes, `a/b/c`; not necessarily UTF-8.
    public let bytes: [UInt8]

    /// Takes bytes that are known to be such a path, without checking them.
    package init(unchecked bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// Hashes all bytes in one go: one by one, as an array does it, takes ten times as long.
    public func hash(into hasher: inout Hasher) {
        unsafe bytes.withUnsafeBytes { unsafe hasher.combine(bytes: $0) }
    }

    /// The directory that is shared.
    public static let root = SharePath(unchecked: [])

    /// Whether this is the shared directory itself.
    public var isRoot: Bool { bytes.isEmpty }

    /// The most bytes that a name may have on the supported file systems.
    package static let longestName = 255
    /// `PATH_MAX` without its NUL.
    package static let longestPath = 4_095

    static let slash = UInt8(ascii: "/")

    /// The names from the top down; empty for the root.
    public var components: [ArraySlice<UInt8>] { bytes.split(separator: Self.slash) }

    /// The number of components.
    public var depth: Int {
        isRoot ? 0 : bytes.reduce(into: 1) { depth, byte in depth += byte == Self.slash ? 1 : 0 }
    }

    /// The last component; empty for the root.
    public var name: ArraySlice<UInt8> {
        bytes[(bytes.lastIndex(of: Self.slash).map { $0 + 1 } ?? 0)...]
    }

    /// The path of the directory that holds this name; the root's parent is the root.
    public var parent: SharePath {
        SharePath(unchecked: Array(bytes[..<(bytes.lastIndex(of: Self.slash) ?? 0)]))
    }

    /// Whether `other` lies anywhere below this path; a path is not its own ancestor.
    ///
    /// Compares components, not text.
    public func isAncestor(of other: SharePath) -> Bool {
        if isRoot { return !other.isRoot }
        return other.bytes.count > bytes.count && other.bytes[bytes.count] == Self.slash
            && other.bytes.starts(with: bytes)
    }

    /// Whether `other` is this path or lies below it.
    public func contains(_ other: SharePath) -> Bool { self == other || isAncestor(of: other) }

    /// This path seen from `base`; nil when it is not `base` or below it.
    public func relative(to base: SharePath) -> SharePath? {
        if base.isRoot { return self }
        if self == base { return .root }
        return base.isAncestor(of: self) ? SharePath(unchecked: Array(bytes[(base.bytes.count + 1)...])) : nil
    }

    /// The path of the member called `name`.
    /// - Throws: ``RootError/invalidName`` when `name` can't be one component, or the path becomes too long.
    public func appending(_ name: some Collection<UInt8>) throws(RootError) -> SharePath {
        guard Self.isName(name) else { throw .invalidName }
        return try joined(name)
    }

    /// The path of a member, or this path when that would be too long.
    func appendingIfFits(_ name: [UInt8]) -> SharePath { (try? appending(name)) ?? self }

    /// The most bytes that the name of a member may have, so that the member's path is not too long.
    var longestMemberName: Int { min(Self.longestName, Self.longestPath - bytes.count - (isRoot ? 0 : 1)) }

    /// Appends `path`, which is relative to this one.
    /// - Throws: ``RootError/invalidName`` when it becomes too long.
    public func appending(_ path: SharePath) throws(RootError) -> SharePath {
        if path.isRoot { return self }
        return try isRoot ? path : joined(path.bytes)
    }

    /// The directories above this path whose paths have a wanted length, from the parent to the root.
    ///
    /// A path may have two thousand components: only the wanted ones are extracted.
    /// - Parameter isWanted: whether paths with this number of bytes are wanted.
    /// - Returns: the wanted ancestors.
    package func ancestors(ofLength isWanted: (Int) -> Bool) -> [SharePath] {
        var found: [SharePath] = []
        var end = bytes.count
        while end > 0 {
            end = bytes[..<end].lastIndex(of: Self.slash) ?? 0
            if isWanted(end) { found.append(SharePath(unchecked: Array(bytes[..<end]))) }
        }
        return found
    }

    /// Whether these bytes can be one component.
    public static func isName(_ name: some Collection<UInt8>) -> Bool {
        guard !name.isEmpty, name.count <= longestName, !name.contains(where: { $0 == slash || $0 == 0 }) else {
            return false
        }
        return !name.elementsEqual([UInt8(ascii: ".")]) && !name.elementsEqual([UInt8(ascii: "."), UInt8(ascii: ".")])
    }

    private func joined(_ more: some Collection<UInt8>) throws(RootError) -> SharePath {
        let count = bytes.count + (isRoot ? 0 : 1) + more.count
        guard count <= Self.longestPath else { throw .invalidName }
        var joined: [UInt8] = []
        joined.reserveCapacity(count)
        joined += bytes
        if !isRoot { joined.append(Self.slash) }
        joined += more
        return SharePath(unchecked: joined)
    }
}

extension SharePath: CustomStringConvertible {
    /// The path as it appears in a URL after the leading slash.
    ///
    /// Harmless in an `href`, a `Location` field and XML.
    public var percentEncoded: String { URICharacters.path.text(bytes) }

    /// The path with a leading slash, percent-encoded: for logs and messages.
    public var description: String { "/" + percentEncoded }
}
