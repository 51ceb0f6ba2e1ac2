import Crypto
import DirectoryRoot
import ServerCore

/// What an archive will hold, in its order, and the validator of exactly these bytes.
///
/// The walk is sorted by the bytes of the names within each folder, so that the same tree gives the same archive each
/// time. Names stand in one buffer; a member costs about 40 bytes and its path, and there are at most ``maxMembers``.
struct ArchivePlan: Sendable {
    /// More members than this are refused: the plan would not fit in the memory that one request may have.
    static let maxMembers = 1_000_000
    /// Nor may their paths take more bytes than this.
    static let maxPathBytes = 256 << 20

    /// A strong tag over the names, sizes, times and inodes of all members and what is left out, quoted.
    ///
    /// Of files, the time of the last change of any kind is among them: a program may set the other one back.
    let entityTag: String
    /// The folder that the members' paths are relative to.
    let base: SharePath

    private let records: [Record]
    private let names: [UInt8]
    /// The text of the last member where something is left out; nil otherwise.
    private let note: [UInt8]?
    /// What it takes of the memory for all plans; given back with it.
    private let portion: TreeMemory.Portion

    private struct Record: Sendable {
        var nameStart: UInt32
        var nameLength: UInt16
        var isDirectory: Bool
        var size: Int64
        var modified: Int64
        var identity: Int
    }

    /// Walks the tree; waits for the disk.
    ///
    /// What the process can't read is left out, and a last member says so: one such file shall neither keep people from
    /// the others nor go unnoticed. It is found out here, by opening each file, since the length is promised next.
    /// - Parameters:
    ///   - base: the folder.
    ///   - share: decides what the requester may read: what they may not is left out.
    ///   - chosen: what of the folder, seen from it; empty for all.
    ///   - format: its layout is part of the validator.
    ///   - memory: where what the plan holds is counted, and given back with it.
    /// - Throws: ``RootError/notFound`` when something chosen is not there, ``RootError/tooLarge`` for more than
    ///   ``maxMembers`` or ``maxPathBytes``, ``RootError/tooMany`` when other plans fill the memory,
    ///   ``RootError/forbidden`` when nothing of it can be read, `CancellationError` when nobody waits for the
    ///   archive any more.
    init(
        of base: SharePath, in share: Share, choosing chosen: [SharePath], format: any ArchiveFormat,
        memory: TreeMemory.Portion
    ) throws {
        self.base = base
        portion = memory
        var builder = Builder(share: share, hash: SHA256(), memory: portion)
        builder.hash.update(data: Array(format.mediaType.utf8))
        try builder.walk(base, choosing: chosen)
        note = try builder.finish()
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

    /// The content of a member that is no file of the share.
    func text(at index: Int) -> [UInt8]? { index == count - 1 ? note : nil }

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
        let memory: TreeMemory.Portion
        var names: [UInt8] = []
        var records: [Record] = []
        private var note = ArchiveNote()
        /// When the archive's folder changed last.
        private var modified: Int64 = 0
        /// Bytes of the folders that the walk is in.
        private var openBytes = 0
        private var links = FollowedLinks()

        init(share: Share, hash: SHA256, memory: TreeMemory.Portion) {
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
            /// Where it is, from the root and without links.
            var real: SharePath
            /// Whether a link below the top leads here, or to a folder above.
            var isBehindLink = false
        }

        mutating func walk(_ base: SharePath, choosing chosen: [SharePath]) throws {
            let top = try share.list(base)
            modified = top.attributes.modified.seconds
            var members = try chosen.isEmpty ? sortedMembers(of: top) : sortedMembers(chosen, of: base)
            var levels = [
                Level(
                    path: base, relative: [], members: members, directory: DirectoryIdentity(top.attributes),
                    real: top.realPath)
            ]
            openBytes = members.byteCount
            // Copied on its first change otherwise.
            members = SortedFolder()
            while let (name, member, obstacle) = levels[levels.count - 1].members.next() {
                if let below = try take(name, member, obstacle, in: levels) {
                    openBytes += below.members.byteCount
                    levels.append(below)
                }
                while levels.count > 1, levels[levels.count - 1].members.isEmpty {
                    openBytes -= levels.removeLast().members.byteCount
                }
            }
            openBytes = 0
            try hold()
        }

        /// Adds a member, or notes that it is left out.
        /// - Parameters:
        ///   - name: from the last of `levels`, which it is in.
        ///   - member: what it is.
        ///   - obstacle: why it can't be added.
        ///   - levels: the folders that the walk is in.
        /// - Returns: the folder that it is, where that holds something.
        /// - Throws: what ends the walk.
        private mutating func take(
            _ name: [UInt8], _ member: SortedFolder.Facts, _ obstacle: ReadingObstacle?, in levels: [Level]
        ) throws -> Level? {
            let parent = levels[levels.count - 1]
            let relative = parent.relative.isEmpty ? name : parent.relative + [UInt8(ascii: "/")] + name
            guard obstacle != .pathTooLong else {
                leaveOut(relative, isDirectory: member.isDirectory, .pathTooLong)
                return nil
            }
            let path = try parent.path.appending(SharePath(unchecked: name))
            guard member.isDirectory else {
                guard share.mayRead(path) else { return nil }
                if let obstacle {
                    leaveOut(relative, isDirectory: false, obstacle)
                } else {
                    try add(relative, member)
                }
                return nil
            }
            guard !levels.contains(where: { $0.directory == member.directory }) else { return nil }
            var below = Level(
                path: path, relative: relative, members: SortedFolder(), directory: member.directory, real: path)
            guard try read(&below, name, in: parent) else { return nil }
            try add(relative, member)
            return below.members.isEmpty ? nil : below
        }

        /// Reads what a folder below the top holds.
        /// - Returns: false when it can't be read, is not for the requester, is linked too often, or went away
        ///   meanwhile.
        private mutating func read(_ folder: inout Level, _ name: [UInt8], in parent: Level) throws -> Bool {
            do {
                let cursor = try share.list(folder.path)
                folder.real = cursor.realPath
                let isLink = try folder.real != parent.real.appending(SharePath(unchecked: name))
                folder.isBehindLink = isLink || parent.isBehindLink
                guard !isLink || !parent.isBehindLink || links.follow(name, in: parent.directory) else {
                    leaveOut(folder.relative, isDirectory: true, .linkedTooOften)
                    return false
                }
                folder.members = try sortedMembers(of: cursor)
                return true
            } catch let error as RootError where error.meansAbsent {
                if error == .forbidden { leaveOut(folder.relative, isDirectory: true, .permission) }
                return false
            }
        }

        /// Adds the note where something was left out.
        /// - Returns: its text.
        mutating func finish() throws -> [UInt8]? {
            guard !note.isEmpty else { return nil }
            guard !records.isEmpty else { throw RootError.forbidden }
            let text = note.text()
            var name = ArchiveNote.name()
            // Which no member can have, since a member's name is part of the tag.
            if hasMember(name) { name = ArchiveNote.name(tag().utf8.dropFirst().dropLast()) }
            try append(
                name, isDirectory: false, size: Int64(text.count), modified: modified, identity: 0)
            hash.update(data: text)
            hash.update(data: Array(String(modified).utf8))
            try hold(text.count)
            return text
        }

        func tag() -> String {
            var hash = hash
            hash.update(data: [0])
            return "\"\(Hex.text(hash.finalize().prefix(16)))\""
        }

        /// The chosen members of a folder, at whatever depth, none taken yet.
        private func sortedMembers(_ chosen: [SharePath], of base: SharePath) throws -> SortedFolder {
            var members = SortedFolder()
            var last: SharePath?
            for member in chosen.sorted(by: Self.standsBefore) {
                try Task.checkCancellation()
                // It was chosen twice, or comes with its folder.
                if let last, last.contains(member) { continue }
                last = member
                let path = try base.appending(member)
                let attributes = try share.attributes(of: path)
                var obstacle: ReadingObstacle?
                if !attributes.isDirectory {
                    obstacle = try self.obstacle { () throws(RootError) in _ = try share.open(path) }
                }
                try members.append(name: member.bytes, attributes, obstacle: obstacle)
            }
            members.sort()
            return members
        }

        /// The order in which a folder comes right before what lies in it.
        private static func standsBefore(_ one: SharePath, _ other: SharePath) -> Bool {
            let slash = UInt8(ascii: "/")
            return one.bytes.lexicographicallyPrecedes(other.bytes) { ($0 == slash ? 0 : $0) < ($1 == slash ? 0 : $1) }
        }

        /// What keeps `open` from opening a file; nil also for what went meanwhile, which shows when its turn comes.
        private func obstacle(_ open: () throws(RootError) -> Void) throws(RootError) -> ReadingObstacle? {
            do throws(RootError) {
                try open()
                return nil
            } catch {
                return try ReadingObstacle(error)
            }
        }

        /// The members of a folder, none taken yet.
        private func sortedMembers(of cursor: DirectoryCursor) throws -> SortedFolder {
            guard cursor.canSearch() else { throw RootError.forbidden }
            cursor.listsUnreachable = true
            var members = SortedFolder()
            while true {
                try Task.checkCancellation()
                let more = try cursor.next(1024)
                if more.isEmpty { break }
                for member in more {
                    var obstacle: ReadingObstacle?
                    if !cursor.reaches(member.name) {
                        obstacle = .pathTooLong
                    } else if !member.attributes.isDirectory {
                        obstacle = try self.obstacle { () throws(RootError) in try cursor.tryReading(member.name) }
                    }
                    try members.append(name: member.name, member.attributes, obstacle: obstacle)
                }
                guard members.count + records.count <= maxMembers else { throw RootError.tooLarge }
                try hold(members.byteCount)
            }
            members.sort()
            return members
        }

        /// Counts what the plan holds, and folders that are being read with it.
        private func hold(_ more: Int = 0) throws(RootError) {
            try memory.hold(
                openBytes + more + note.byteCount + links.byteCount + names.capacity
                    + records.capacity * MemoryLayout<Record>.stride)
        }

        private mutating func leaveOut(_ path: [UInt8], isDirectory: Bool, _ obstacle: ReadingObstacle) {
            note.add(path, isDirectory: isDirectory, obstacle)
            hash.update(data: [0] + path + [0, isDirectory ? 1 : 0, obstacle.rawValue])
        }

        /// Whether a member at the top has this name, in whatever letters.
        private func hasMember(_ name: [UInt8]) -> Bool {
            records.contains { record in
                let start = Int(record.nameStart)
                return ASCII.equalIgnoringCase(names[start..<(start + Int(record.nameLength))], name)
            }
        }

        private mutating func append(
            _ path: [UInt8], isDirectory: Bool, size: Int64, modified: Int64, identity: Int
        ) throws {
            guard records.count < maxMembers, names.count + path.count <= maxPathBytes,
                let start = UInt32(exactly: names.count), let length = UInt16(exactly: path.count)
            else { throw RootError.tooLarge }
            names += path
            if records.count % 1_024 == 0 { try hold() }
            records.append(
                Record(
                    nameStart: start, nameLength: length, isDirectory: isDirectory, size: size, modified: modified,
                    identity: identity))
        }

        private mutating func add(_ path: [UInt8], _ member: SortedFolder.Facts) throws {
            try append(
                path, isDirectory: member.isDirectory, size: member.isDirectory ? 0 : max(0, member.size),
                modified: member.modified, identity: member.identity)
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
