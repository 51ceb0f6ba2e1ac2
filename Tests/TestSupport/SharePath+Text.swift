public import DirectoryRoot

extension SharePath {
    /// A path in the form that tests write.
    public init(text: String) throws { try self.init(bytes: text.utf8) }
}
