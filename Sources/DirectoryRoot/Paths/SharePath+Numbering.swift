extension SharePath {
    /// The `number`th name to try instead of this one, which is taken: `name (1).txt`.
    ///
    /// Shortened between two characters if it would be too long.
    /// - Parameters:
    ///   - number: from 1; 0 is the path itself.
    ///   - isDirectory: a folder's number is at the end, since what follows a dot in its name is no extension.
    /// - Throws: ``RootError/invalidName`` when the whole path would be too long.
    /// - Returns: the path to try.
    package func numbered(_ number: Int, isDirectory: Bool = false) throws(RootError) -> SharePath {
        guard number > 0 else { return self }
        let mark = Array(" (\(number))".utf8)
        let stem = isDirectory ? name : Self.stem(of: name)
        let ending = name[stem.endIndex...]
        var cut = min(stem.endIndex, name.startIndex + Self.longestName - mark.count - ending.count)
        while cut > name.startIndex, cut < stem.endIndex, name[cut] & 0xC0 == 0x80 { cut -= 1 }
        return try parent.appending(name[..<cut] + mark + ending)
    }

    /// A file's name without its extension: a leading dot makes a hidden file, and a long "extension" is none.
    private static func stem(of name: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        guard let dot = name.lastIndex(of: UInt8(ascii: ".")), dot > name.startIndex, name.endIndex - dot <= 16 else {
            return name
        }
        let stem = name[..<dot]
        let isPacked = stem.count > 4 && stem.suffix(4).lazy.map(NameKey.lowered).elementsEqual(".tar".utf8)
        return isPacked ? stem.dropLast(4) : stem
    }
}
