import Crypto
import DirectoryRoot
import ServerCore

/// The members of an archive, in their order, and the validator of exactly these bytes.
///
/// The walk is sorted by the bytes of the names within each folder, so that the same tree always gives the same
/// archive. The names are in one buffer; a member takes about 40 bytes and its path, and there are at most
/// ``maxMembers``.
struct ArchivePlan: Sendable {
    /// The most members: a larger plan would not fit into the memory that one request may use.
    static let maxMembers = 1_000_000
    /// The most bytes of all their paths.
    static let maxPathBytes = 256 << 20

    /// A strong tag over the names, sizes, times and inodes of all members and what is left out, quoted.
    ///
    /// For files, it includes the change time (`st_ctime`), since a program may set the modification time back.
    let entityTag: String
    /// The folder that the members' paths are relative to.
    let base: SharePath

    private let records: [Record]
    private let names: [UInt8]
    /// The text of the last member if something is left out; nil otherwise.
    private let note: [UInt8]?
    /// Its share of the memory for all plans; released with it.
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
    /// What the process can't read is left out, and reported in a last member: one such file must neither keep people
    /// from the others nor go unnoticed. It is found out here, by opening each file, since the length is announced
    /// next.
    /// - Parameters:
    ///   - base: the folder.
    ///   - share: determines what the requester may read; anything else is left out.
    ///   - chosen: the selected members, relative to the folder; empty for all.
    ///   - format: its layout is part of the validator.
    ///   - memory: counts what the plan holds; released with it.
    /// - Throws: ``RootError/notFound`` when something selected does not exist, ``RootError/tooLarge`` for more than
    ///   ``maxMembers`` or ``maxPathBytes``, ``RootError/tooMany`` when other plans have used up the memory,
    ///   ``RootError/forbidden`` when nothing of it can be read, `CancellationError` when the task was cancelled.
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

    /// The number of members.
    var count: Int { records.count }

    /// A member.
    subscript(index: Int) -> ArchiveMember {
        let record = records[index]
        let start = Int(record.nameStart)
        return ArchiveMember(
            path: Array(names[start..<(start + Int(record.nameLength))]), isDirectory: record.isDirectory,
            size: record.size, modified: record.modified)
    }

    /// The content of a member that is not a file of the share.
    func text(at index: Int) -> [UInt8]? { index == count - 1 ? note : nil }

    /// Whether `attributes` are still those from which the plan was made.
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
    /// The walk that makes a plan, with an explicit stack, however deep the tree is.
    private struct Builder {
        let share: Share
        var hash: SHA256
        let memory: TreeMemory.Portion
        var names: [UInt8] = []
        var records: [Record] = []
        private var note = ArchiveNote()
        /// The modification time of the archive's folder.
        private var modified: Int64 = 0
        /// The memory of the folders that the walk is in, in bytes.
        private var openBytes = 0
        private var links = FollowedLinks()

        init(share: Share, hash: SHA256, memory: TreeMemory.Portion) {
            self.share = share
            self.hash = hash
            self.memory = memory
        }

        private struct Level {
            var path: SharePath
            /// The path relative to the archive's folder; empty for that folder.
            var relative: [UInt8]
            var members: SortedFolder
            var directory: DirectoryIdentity
            /// Its real path from the root, without links.
            var real: SharePath
            /// Whether a link below the top leads to it, or to a folder above it.
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
            // Otherwise it would be copied at its first change.
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
        ///   - name: its path relative to the last of `levels`.
        ///   - member: its attributes.
        ///   - obstacle: why it can't be added, if so.
        ///   - levels: the folders that the walk is in.
        /// - Returns: the folder, if it is one and has members.
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

        /// Reads the members of a folder below the top.
        /// - Returns: false when it can't be read, is not for the requester, is linked too often, or vanished
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

        /// Adds the note if something was left out.
        /// - Returns: its text.
        mutating func finish() throws -> [UInt8]? {
            guard !note.isEmpty else { return nil }
            guard !records.isEmpty else { throw RootError.forbidden }
            let text = note.text()
            var name = ArchiveNote.name()
            // No member can have this name, since the members' names are part of the tag.
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

        /// The selected members of a folder, at any depth, none taken yet.
        private func sortedMembers(_ chosen: [SharePath], of base: SharePath) throws -> SortedFolder {
            var members = SortedFolder()
            var last: SharePath?
            for member in chosen.sorted(by: Self.standsBefore) {
                try Task.checkCancellation()
                // It was selected twice, or together with its folder.
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

        /// An order in which a folder comes right before its contents.
        private static func standsBefore(_ one: SharePath, _ other: SharePath) -> Bool {
            let slash = UInt8(ascii: "/")
            return one.bytes.lexicographicallyPrecedes(other.bytes) { ($0 == slash ? 0 : $0) < ($1 == slash ? 0 : $1) }
        }

        /// What prevents `open` from opening a file; nil also if the file has vanished, which will be found when its
        /// turn comes.
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

        /// Counts what the plan holds, including folders that are being read.
        private func hold(_ more: Int = 0) throws(RootError) {
            try memory.hold(
                openBytes + more + note.byteCount + links.byteCount + names.capacity
                    + records.capacity * MemoryLayout<Record>.stride)
        }

        private mutating func leaveOut(_ path: [UInt8], isDirectory: Bool, _ obstacle: ReadingObstacle) {
            note.add(path, isDirectory: isDirectory, obstacle)
            hash.update(data: [0] + path + [0, isDirectory ? 1 : 0, obstacle.rawValue])
        }

        /// Whether a member at the top has this name, ignoring case.
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
