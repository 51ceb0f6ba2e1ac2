import DirectoryRoot

/// The members of one folder in the order of their names' bytes, as an archive needs them: half of the memory that
/// ``DirectoryMember`` takes, for folders of a million names.
struct SortedFolder: Sendable {
    /// What an archive needs to know of a member, but for its name.
    struct Facts: Sendable {
        let isDirectory: Bool
        /// Bytes; of a directory, whatever the file system says.
        let size: Int64
        /// Seconds since 1970.
        let modified: Int64
        let entityTag: EntityTag
        /// When anything about it changed last.
        let changed: Timestamp
        let directory: DirectoryIdentity

        init(_ attributes: FileAttributes) {
            isDirectory = attributes.isDirectory
            size = attributes.size
            modified = attributes.modified.seconds
            entityTag = attributes.entityTag
            changed = attributes.changed
            directory = DirectoryIdentity(attributes)
        }

        /// What changes whenever the content of a file may have, for as long as the process lives.
        var identity: Int {
            var hasher = Hasher()
            hasher.combine(entityTag)
            if !isDirectory { hasher.combine(changed) }
            return hasher.finalize()
        }
    }

    private struct Member: Sendable {
        var nameStart: UInt32
        var nameLength: UInt16
        var obstacle: ReadingObstacle?
        var facts: Facts
    }

    /// Those not yet taken, the next one last.
    private var members: [Member] = []
    private var names: [UInt8] = []

    var isEmpty: Bool { members.isEmpty }
    var count: Int { members.count }
    /// Bytes that it holds, about.
    var byteCount: Int { members.capacity * MemoryLayout<Member>.stride + names.capacity }

    /// Adds a member behind the others; ``sort()`` puts it in its place.
    /// - Parameters:
    ///   - name: its name.
    ///   - attributes: what it is.
    ///   - obstacle: why it can't be read.
    /// - Throws: ``RootError/tooLarge`` when the names of the folder are 4 GiB long.
    mutating func append(
        name: [UInt8], _ attributes: FileAttributes, obstacle: ReadingObstacle?
    ) throws(RootError) {
        guard let start = UInt32(exactly: names.count), let length = UInt16(exactly: name.count) else {
            throw .tooLarge
        }
        names += name
        members.append(Member(nameStart: start, nameLength: length, obstacle: obstacle, facts: Facts(attributes)))
    }

    /// Puts the first name where ``next()`` takes it.
    mutating func sort() {
        let names = names
        members.sort { Self.name(of: $1, in: names).lexicographicallyPrecedes(Self.name(of: $0, in: names)) }
    }

    /// Takes the next member; nil when there is none left.
    mutating func next() -> (name: [UInt8], facts: Facts, obstacle: ReadingObstacle?)? {
        members.popLast().map { (Array(Self.name(of: $0, in: names)), $0.facts, $0.obstacle) }
    }

    private static func name(of member: Member, in names: [UInt8]) -> ArraySlice<UInt8> {
        names[Int(member.nameStart)..<(Int(member.nameStart) + Int(member.nameLength))]
    }
}
