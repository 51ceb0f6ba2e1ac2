/// One name of a listing.
public struct DirectoryMember: Sendable {
    /// The raw bytes of the name.
    public var name: [UInt8]
    /// What it is; of a link, what that points at.
    public var attributes: FileAttributes
    /// False only when it is known that there are no dead properties, so that nobody needs to look.
    public var mayHaveProperties: Bool

    /// All as given.
    public init(name: [UInt8], attributes: FileAttributes, mayHaveProperties: Bool) {
        self.name = name
        self.attributes = attributes
        self.mayHaveProperties = mayHaveProperties
    }
}
