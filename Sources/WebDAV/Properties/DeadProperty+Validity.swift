internal import DirectoryRoot

extension DeadProperty {
    /// Whether the stored bytes are one element of this name, which clients can read in a listing, four elements
    /// deeper: another program may have written them.
    var isWellFormed: Bool {
        guard let element = try? XMLReader.read(xml, maxDepth: XMLBounds.maxDepth - 4) else { return false }
        return element.name == name
    }
}
