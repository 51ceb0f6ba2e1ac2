import DirectoryRoot

/// What becomes of an upload whose name is taken.
enum ConflictRule: String, Sendable {
    /// The new content takes the name.
    case replace
    /// The new file gets a number: `name (1).txt`.
    case keep
    /// The upload is refused.
    case fail

    /// The most numbers that are tried.
    static let attempts = 10_000

    /// What may stand at a name that is tried.
    var replacement: Replacement { self == .replace ? .anything : .nothing }

    /// The `number`th name beside a taken one: before the extension, and cut where it would be too long.
    /// - Parameters:
    ///   - path: the taken one.
    ///   - number: from 1; 0 is the path itself.
    /// - Throws: ``RootError/invalidName`` when the whole path would be too long.
    /// - Returns: the path to try.
    static func numbered(_ path: SharePath, _ number: Int) throws(RootError) -> SharePath {
        guard number > 0 else { return path }
        let name = Array(path.name)
        let suffix = Array(" (\(number))".utf8)
        var stem = name[...]
        var ending = name[name.endIndex...]
        // A first dot makes a hidden file, not an extension; a long "extension" is none.
        if let dot = name.lastIndex(of: UInt8(ascii: ".")), dot > 0, name.count - dot <= 16 {
            stem = name[..<dot]
            ending = name[dot...]
            if stem.suffix(4).elementsEqual(".tar".utf8), stem.count > 4 {
                ending = name[(dot - 4)...]
                stem = stem.dropLast(4)
            }
        }
        let room = 255 - suffix.count - ending.count
        while stem.count > room || (stem.count < name.count - ending.count && stem.isCutInside(name)) {
            stem = stem.dropLast()
        }
        return try path.parent.appending(stem + suffix + ending)
    }
}

extension ArraySlice<UInt8> {
    /// Whether the byte after this slice of `whole` goes on with a UTF-8 sequence that begins in it.
    fileprivate func isCutInside(_ whole: [UInt8]) -> Bool {
        !isEmpty && endIndex < whole.count && whole[endIndex] & 0xC0 == 0x80
    }
}
