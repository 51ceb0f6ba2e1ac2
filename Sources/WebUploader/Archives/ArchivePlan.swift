import Crypto
import DirectoryRoot

/// What an archive will hold, in its order, and the validator of exactly these bytes.
///
/// The walk is sorted by the bytes of the names within each folder, so that the same tree gives the same archive each time.
/// Names stand in one buffer; a member costs about 40 bytes and its path, and there are at most ``maxMembers``.
struct ArchivePlan: Sendable {
    /// More members than this are refused: the plan would not fit in the memory that one request may have.
    static let maxMembers = 1_000_000
    /// Nor may their paths take more bytes than this.
    static let maxPathBytes = 256 << 20

    /// A strong tag over the names, sizes, times and inodes of all members, quoted.
    ///
    /// Of files, the time of the last change of any kind is among them: a program may set the other one back.
    let entityTag: String
    /// The folder that the members' paths are relative to.
    let base: SharePath

    private let records: [Record]
    private let names: [UInt8]

    private struct Record: Sendable {
        var nameStart: UInt32
        var nameLength: UInt16
        var isDirectory: Bool
        var size: Int64
        var modified: Int64
        var identity: Int
    }

    /// Walks the tree; waits for the disk.
    /// - Parameters:
    ///   - base: the folder.
    ///   - share: decides what the requester may read: what they may not is left out.
    ///   - chosen: names in the folder; empty for all of them.
    ///   - format: its layout is part of the validator.
    /// - Throws: ``RootError/notFound`` when a chosen name is not there, ``RootError/tooLarge`` for more than
    ///   ``maxMembers`` or ``maxPathBytes``, `CancellationError` when nobody waits for the archive any more.
    init(of base: SharePath, in share: Share, choosing chosen: [[UInt8]], format: any ArchiveFormat) throws {
        self.base = base
        var builder = Builder(share: share, hash: SHA256(), names: [], records: [])
        builder.hash.update(data: Array(format.mediaType.utf8))
        try builder.walk(base, choosing: chosen)
        entityTag = builder.tag()
        records = builder.records
        names = builder.names
    }

    /// How many members there are.
    var count: Int { records.count }

    /// A member.
    subscript(index: Int) -> ArchiveMember {
        let record = records[index]
        let start = Int(record.nameStart)
        return ArchiveMember(
            path: Array(names[start..<(start + Int(record.nameLength))]), isDirectory: record.isDirectory,
            size: record.size, modified: record.modified)
    }

    /// Whether `attributes` are still those that the plan was made from.
    func describes(_ attributes: FileAttributes, at index: Int) -> Bool {
        records[index].identity == Self.identity(attributes) && !attributes.isDirectory
    }

    private static func identity(_ attributes: FileAttributes) -> Int {
        var hasher = Hasher()
        hasher.combine(attributes.entityTag)
        if !attributes.isDirectory { hasher.combine(attributes.changed) }
        return hasher.finalize()
    }

    /// The path of a member in the share.
    func path(at index: Int) -> SharePath {
        base.isRoot
            ? SharePath(unchecked: self[index].path)
            : SharePath(unchecked: base.bytes + [UInt8(ascii: "/")] + self[index].path)
    }
}

extension ArchivePlan {
    /// The walk that makes a plan: its stack is a list of its own, however deep the tree.
    private struct Builder {
        let share: Share
        var hash: SHA256
        var names: [UInt8]
        var records: [Record]

        private struct Level {
            var path: SharePath
            /// The path relative to the archive's folder; empty at the top.
            var relative: [UInt8]
            var members: [DirectoryMember]
            var identity: DirectoryIdentity
        }

        /// One directory, by whichever name it is reached: a link back to a folder above ends the descent.
        private struct DirectoryIdentity: Hashable {
            var device: UInt64
            var inode: UInt64

            init(_ attributes: FileAttributes) {
                device = attributes.device
                inode = attributes.inode
            }
        }

        mutating func walk(_ base: SharePath, choosing chosen: [[UInt8]]) throws {
            let top = try share.open(base).attributes
            guard top.isDirectory else { throw RootError.notDirectory }
            var members: [DirectoryMember]
            if chosen.isEmpty {
                members = try sortedMembers(of: base)
            } else {
                members = []
                for name in Set(chosen).sorted(by: Self.precedes) {
                    let attributes = try share.attributes(of: base.appending(name))
                    members.append(DirectoryMember(name: name, attributes: attributes, mayHaveProperties: false))
                }
                members.reverse()
            }
            var levels = [Level(path: base, relative: [], members: members, identity: DirectoryIdentity(top))]
            while let member = levels[levels.count - 1].members.popLast() {
                let level = levels[levels.count - 1]
                let path = try level.path.appending(member.name)
                let relative = level.relative.isEmpty ? member.name : level.relative + [UInt8(ascii: "/")] + member.name
                let identity = DirectoryIdentity(member.attributes)
                var below: [DirectoryMember]?
                if member.attributes.isDirectory {
                    if !levels.contains(where: { $0.identity == identity }) { below = try readableMembers(of: path) }
                    if below != nil { try add(relative, member.attributes) }
                } else if share.mayRead(path) {
                    try add(relative, member.attributes)
                }
                if let below, !below.isEmpty {
                    levels.append(Level(path: path, relative: relative, members: below, identity: identity))
                }
                while levels.count > 1, levels[levels.count - 1].members.isEmpty { levels.removeLast() }
            }
        }

        func tag() -> String {
            var hash = hash
            hash.update(data: [0])
            var writer = TextWriter(capacity: 48)
            writer.raw("\"")
            for byte in hash.finalize().prefix(16) { writer.hex(byte) }
            writer.raw("\"")
            return String(decoding: writer.take(), as: UTF8.self)
        }

        /// The members of a folder below the top; nil when it is not for the requester, or went away meanwhile.
        private func readableMembers(of path: SharePath) throws -> [DirectoryMember]? {
            do {
                return try sortedMembers(of: path)
            } catch RootError.notFound, RootError.forbidden, RootError.notDirectory {
                return nil
            }
        }

        /// The members in descending order of their names, to be taken from the end.
        private func sortedMembers(of path: SharePath) throws -> [DirectoryMember] {
            let cursor = try share.list(path)
            var members: [DirectoryMember] = []
            while true {
                try Task.checkCancellation()
                let more = try cursor.next(1024)
                if more.isEmpty { break }
                members += more
                guard members.count + records.count <= maxMembers else { throw RootError.tooLarge }
            }
            members.sort { Self.precedes($1.name, $0.name) }
            return members
        }

        private mutating func add(_ path: [UInt8], _ attributes: FileAttributes) throws {
            guard records.count < maxMembers, names.count + path.count <= maxPathBytes,
                let start = UInt32(exactly: names.count), let length = UInt16(exactly: path.count)
            else { throw RootError.tooLarge }
            names += path
            records.append(
                Record(
                    nameStart: start, nameLength: length, isDirectory: attributes.isDirectory,
                    size: attributes.isDirectory ? 0 : max(0, attributes.size), modified: attributes.modified.seconds,
                    identity: ArchivePlan.identity(attributes)))
            var line = TextWriter(capacity: path.count + 96)
            line.raw(path)
            line.byte(0)
            line.entityTag(attributes.entityTag)
            if !attributes.isDirectory {
                line.integer(attributes.changed.seconds)
                line.raw(".")
                line.integer(Int64(attributes.changed.nanoseconds))
            }
            hash.update(data: line.take())
        }

        private static func precedes(_ a: [UInt8], _ b: [UInt8]) -> Bool { a.lexicographicallyPrecedes(b) }
    }
}
