/// One member in a listing.
public struct DirectoryMember: Sendable {
    /// The raw bytes of the name.
    public var name: [UInt8]
    /// Its attributes; for a link, those of its target.
    public var attributes: FileAttributes
    /// False only when it is certain that there are no dead properties, so that nobody needs to look.
    public var mayHaveProperties: Bool

    /// All as given.
    public init(name: [UInt8], attributes: FileAttributes, mayHaveProperties: Bool) {
        self.name = name
        self.attributes = attributes
        self.mayHaveProperties = mayHaveProperties
    }
}
