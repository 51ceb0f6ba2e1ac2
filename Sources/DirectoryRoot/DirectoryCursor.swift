/// A walk over one directory's members. Use from one task at a time; each ``next(_:)`` waits for the disk.
public final class DirectoryCursor: @unchecked Sendable {
    /// The next members, at most `limit` of them; empty at the end. A member that vanishes meanwhile is left out.
    /// Links that stay inside the root appear as what they point at, others not at all.
    public func next(_ limit: Int = 512) throws(RootError) -> [DirectoryMember] { fatalError() }
}

/// One name of a listing.
public struct DirectoryMember: Sendable {
    /// The raw bytes of the name.
    public var name: [UInt8]
    public var attributes: FileAttributes
    /// False only when it is known that there are no dead properties, so that nobody needs to look.
    public var mayHaveProperties: Bool

    public init(name: [UInt8], attributes: FileAttributes, mayHaveProperties: Bool) {
        self.name = name
        self.attributes = attributes
        self.mayHaveProperties = mayHaveProperties
    }
}
