internal import DirectoryRoot

extension DeadProperty {
    /// Whether the kept bytes are one element of this name, and clients can read it in a listing, four elements deeper:
    /// another program can have written them.
    var isWellFormed: Bool {
        guard let element = try? XMLReader.read(xml, maxDepth: XMLBounds.maxDepth - 4) else { return false }
        return element.name == name
    }
}
