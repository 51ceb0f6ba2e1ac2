internal import DirectoryRoot

extension DeadProperty {
    /// Whether the kept bytes are one element of this name: another program can have written them.
    var isWellFormed: Bool {
        guard let element = try? XMLReader.read(xml) else { return false }
        return element.name == name
    }
}
