import Crypto
import DirectoryRoot

/// What an archive will hold, in its order, and the validator of exactly these bytes.
///
/// The walk is sorted by the bytes of the names within each folder, so that the same tree gives the same archive each
/// time. Names stand in one buffer; a member costs about 40 bytes and its path, and there are at most ``maxMembers``.
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
    /// What it takes of the memory for all plans; given back with it.
    private let portion: ArchiveMemory.Portion

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
    ///   - memory: where what the plan holds is counted.
    /// - Throws: ``RootError/notFound`` when a chosen name is not there, ``RootError/tooLarge`` for more than
    ///   ``maxMembers`` or ``maxPathBytes``, ``RootError/tooMany`` when other plans fill the memory,
    ///   `CancellationError` when nobody waits for the archive any more.
    init(
        of base: SharePath, in share: Share, choosing chosen: [[UInt8]], format: any ArchiveFormat,
        memory: ArchiveMemory
    ) throws {
        self.base = base
        portion = memory.portion()
        var builder = Builder(share: share, hash: SHA256(), memory: portion)
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
        records[index].identity == SortedFolder.Facts(attributes).identity && !attributes.isDirectory
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
        let memory: ArchiveMemory.Portion
        var names: [UInt8] = []
        var records: [Record] = []
        /// Bytes of the folders that the walk is in.
        private var openBytes = 0

        init(share: Share, hash: SHA256, memory: ArchiveMemory.Portion) {
            self.share = share
            self.hash = hash
            self.memory = memory
        }

        private struct Level {
            var path: SharePath
            /// The path relative to the archive's folder; empty at the top.
            var relative: [UInt8]
            var members: SortedFolder
            var directory: DirectoryIdentity
        }

        mutating func walk(_ base: SharePath, choosing chosen: [[UInt8]]) throws {
            let top = try share.open(base).attributes
            guard top.isDirectory else { throw RootError.notDirectory }
            var members = SortedFolder()
            if chosen.isEmpty {
                members = try sortedMembers(of: base)
            } else {
                for name in Set(chosen) { try members.append(name: name, share.attributes(of: base.appending(name))) }
                members.sort()
            }
            var levels = [Level(path: base, relative: [], members: members, directory: DirectoryIdentity(top))]
            openBytes = members.byteCount
            // Copied on its first change otherwise.
            members = SortedFolder()
            while let (name, member) = levels[levels.count - 1].members.next() {
                let parent = levels[levels.count - 1].relative
                let path = try levels[levels.count - 1].path.appending(name)
                let relative = parent.isEmpty ? name : parent + [UInt8(ascii: "/")] + name
                var below: SortedFolder?
                if member.isDirectory {
                    if !levels.contains(where: { $0.directory == member.directory }) {
                        below = try readableMembers(of: path)
                    }
                    if below != nil { try add(relative, member) }
                } else if share.mayRead(path) {
                    try add(relative, member)
                }
                if let below, !below.isEmpty {
                    levels.append(Level(path: path, relative: relative, members: below, directory: member.directory))
                    openBytes += below.byteCount
                }
                while levels.count > 1, levels[levels.count - 1].members.isEmpty {
                    openBytes -= levels.removeLast().members.byteCount
                }
            }
            openBytes = 0
            try hold()
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
        private func readableMembers(of path: SharePath) throws -> SortedFolder? {
            do {
                return try sortedMembers(of: path)
            } catch let error as RootError where error.meansAbsent {
                return nil
            }
        }

        /// The members of a folder, none taken yet.
        private func sortedMembers(of path: SharePath) throws -> SortedFolder {
            let cursor = try share.list(path)
            var members = SortedFolder()
            while true {
                try Task.checkCancellation()
                let more = try cursor.next(1024)
                if more.isEmpty { break }
                for member in more { try members.append(name: member.name, member.attributes) }
                guard members.count + records.count <= maxMembers else { throw RootError.tooLarge }
                try hold(members.byteCount)
            }
            members.sort()
            return members
        }

        /// Counts what the plan holds, and folders that are being read with it.
        private func hold(_ more: Int = 0) throws(RootError) {
            try memory.hold(openBytes + more + names.capacity + records.capacity * MemoryLayout<Record>.stride)
        }

        private mutating func add(_ path: [UInt8], _ member: SortedFolder.Facts) throws {
            guard records.count < maxMembers, names.count + path.count <= maxPathBytes,
                let start = UInt32(exactly: names.count), let length = UInt16(exactly: path.count)
            else { throw RootError.tooLarge }
            names += path
            if records.count % 1_024 == 0 { try hold() }
            records.append(
                Record(
                    nameStart: start, nameLength: length, isDirectory: member.isDirectory,
                    size: member.isDirectory ? 0 : max(0, member.size), modified: member.modified,
                    identity: member.identity))
            var line = TextWriter(capacity: path.count + 96)
            line.raw(path)
            line.byte(0)
            line.entityTag(member.entityTag)
            if !member.isDirectory {
                line.integer(member.changed.seconds)
                line.raw(".")
                line.integer(Int64(member.changed.nanoseconds))
            }
            hash.update(data: line.take())
        }
    }
}
