public import DirectoryRoot

extension SharePath {
    /// A path as a test writes it.
    public init(text: String) throws { try self.init(bytes: text.utf8) }
}
