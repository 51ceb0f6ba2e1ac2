import DirectoryRoot

/// The members of one folder in the order of their names' bytes, as an archive needs them: half of the memory that
/// ``DirectoryMember`` takes, for folders of a million names.
struct SortedFolder: Sendable {
    /// One member.
    struct Member: Sendable {
        private let attributes: Facts
        let name: [UInt8]

        fileprivate init(_ facts: Facts, name: ArraySlice<UInt8>) {
            attributes = facts
            self.name = Array(name)
        }

        var isDirectory: Bool { attributes.isDirectory }
        var size: Int64 { attributes.size }
        /// Seconds since 1970.
        var modified: Int64 { attributes.modified }
        var entityTag: EntityTag { attributes.entityTag }
        /// When anything about it changed last.
        var changed: Timestamp { attributes.changed }
        var directory: DirectoryIdentity { attributes.directory }
        /// As ``SortedFolder/identity(_:)`` has it.
        var identity: Int { SortedFolder.identity(entityTag, isDirectory: isDirectory, changed) }
    }

    fileprivate struct Facts: Sendable {
        var nameStart: UInt32
        var nameLength: UInt16
        var isDirectory: Bool
        var size: Int64
        var modified: Int64
        var entityTag: EntityTag
        var changed: Timestamp
        var directory: DirectoryIdentity
    }

    /// Those not yet taken, the next one last.
    private var members: [Facts] = []
    private var names: [UInt8] = []

    var isEmpty: Bool { members.isEmpty }
    var count: Int { members.count }
    /// Bytes that it holds, about.
    var byteCount: Int { members.capacity * MemoryLayout<Facts>.stride + names.capacity }

    /// Adds a member behind the others; ``sort()`` puts it in its place.
    /// - Throws: ``RootError/tooLarge`` when the names of the folder are 4 GiB long.
    mutating func append(name: [UInt8], _ attributes: FileAttributes) throws(RootError) {
        guard let start = UInt32(exactly: names.count), let length = UInt16(exactly: name.count) else {
            throw .tooLarge
        }
        names += name
        members.append(
            Facts(
                nameStart: start, nameLength: length, isDirectory: attributes.isDirectory, size: attributes.size,
                modified: attributes.modified.seconds, entityTag: attributes.entityTag,
                changed: attributes.changed, directory: DirectoryIdentity(attributes)))
    }

    /// Puts the first name where ``next()`` takes it.
    mutating func sort() {
        let names = names
        members.sort { Self.name(of: $1, in: names).lexicographicallyPrecedes(Self.name(of: $0, in: names)) }
    }

    /// Takes the next member; nil when there is none left.
    mutating func next() -> Member? {
        members.popLast().map { Member($0, name: Self.name(of: $0, in: names)) }
    }

    /// What changes whenever the content of a file may have, for as long as the process lives.
    static func identity(_ attributes: FileAttributes) -> Int {
        identity(attributes.entityTag, isDirectory: attributes.isDirectory, attributes.changed)
    }

    private static func identity(_ entityTag: EntityTag, isDirectory: Bool, _ changed: Timestamp) -> Int {
        var hasher = Hasher()
        hasher.combine(entityTag)
        if !isDirectory { hasher.combine(changed) }
        return hasher.finalize()
    }

    private static func name(of member: Facts, in names: [UInt8]) -> ArraySlice<UInt8> {
        names[Int(member.nameStart)..<(Int(member.nameStart) + Int(member.nameLength))]
    }
}

/// One directory, by whichever name it is reached: a link back to a folder above ends the descent.
struct DirectoryIdentity: Hashable, Sendable {
    private let device: UInt64
    private let inode: UInt64

    init(_ attributes: FileAttributes) {
        device = attributes.device
        inode = attributes.inode
    }
}
