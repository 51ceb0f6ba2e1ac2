/// A place at which two paths differ that are the same wherever the file system ignores the difference.
struct OtherSpelling: Hashable {
    /// The folder that has the name, as this path spells it.
    let folder: SharePath
    /// How this path spells the name.
    let name: [UInt8]
    /// How the other path spells it.
    let known: [UInt8]
}

extension SharePath {
    /// Where this path spells `other` differently, as far as the shorter of the two goes; nil when they do not resemble
    /// each other.
    ///
    /// Empty when one is the other or lies below it, byte by byte. Pure; for how the disk treats it, see
    /// ``DirectoryRoot/confuses(_:)``.
    func spellings(of other: SharePath) -> [OtherSpelling]? {
        guard mayBeAlike(other) else { return nil }
        if contains(other) || other.isAncestor(of: self) { return [] }
        var found: [OtherSpelling] = []
        for (name, known) in zip(components, other.components) where name != known {
            guard NameKey.areAlike(name, known) else { return nil }
            found.append(OtherSpelling(folder: before(name), name: Array(name), known: Array(known)))
        }
        return found
    }

    /// The names at the beginning of this path that `other` spells differently, up to the first that does not resemble
    /// it.
    func beginningSpellings(of other: SharePath) -> [OtherSpelling] {
        var found: [OtherSpelling] = []
        guard !contains(other), !other.isAncestor(of: self) else { return [] }
        // If the first different byte distinguishes two names, all names before it are spelled alike.
        for (own, known) in zip(bytes, other.bytes) where own != known {
            guard NameKey.lowered(own) == NameKey.lowered(known) || NameKey.isOdd(own) || NameKey.isOdd(known) else {
                return []
            }
            break
        }
        for (name, known) in zip(components, other.components) where name != known {
            guard NameKey.areAlike(name, known) else { break }
            found.append(OtherSpelling(folder: before(name), name: Array(name), known: Array(known)))
        }
        return found
    }

    /// This path with the names in these places spelled as in the other path.
    func respelled(_ spellings: [OtherSpelling]) -> SharePath {
        var names = components
        for spelling in spellings where spelling.folder.depth < names.count {
            names[spelling.folder.depth] = spelling.known[...]
        }
        return SharePath(unchecked: Array(names.joined(separator: [Self.slash])))
    }

    /// The folder that contains `name`, which must be a slice from ``components``: its position in the path identifies
    /// the folder.
    func before(_ name: ArraySlice<UInt8>) -> SharePath {
        SharePath(unchecked: Array(bytes[..<max(bytes.startIndex, name.startIndex - 1)]))
    }

    /// Whether the first byte in which both differ, apart from case, still allows them to be alike: nearly all paths
    /// are ruled out by it, at no cost.
    private func mayBeAlike(_ other: SharePath) -> Bool {
        for (own, known) in zip(bytes, other.bytes) where NameKey.lowered(own) != NameKey.lowered(known) {
            return NameKey.isOdd(own) || NameKey.isOdd(known)
        }
        return true
    }

    /// Whether some name may be a short one such as FAT and Windows give a file besides its long name (`PRIVAT~1`).
    var hasShortNames: Bool { bytes.contains(UInt8(ascii: "~")) && components.contains(where: Self.mayBeShort) }

    /// Whether a name has the form of a short one: up to eight characters that end in a tilde and a number, and an
    /// extension of up to three.
    static func mayBeShort(_ name: some Collection<UInt8>) -> Bool {
        guard name.contains(UInt8(ascii: "~")) else { return false }
        let parts = NameKey.kept(NameKey.folded(name).text).split(separator: ".", omittingEmptySubsequences: false)
        guard let stem = parts.first, parts.count <= 2, stem.count <= 8, parts.count == 1 || parts[1].count <= 3,
            let tilde = stem.lastIndex(of: "~"), tilde > stem.startIndex
        else { return false }
        let number = stem[tilde...].dropFirst()
        return !number.isEmpty && number.allSatisfy(\.isASCII)
    }
}
