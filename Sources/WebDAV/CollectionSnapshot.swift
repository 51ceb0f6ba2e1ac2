internal import DirectoryRoot
internal import ServerCore

/// What a collection holds at one moment, in so far as a later moment can differ.
///
/// RFC 6578 §3.5.
struct CollectionSnapshot: Sendable {
    /// What is remembered of one member.
    struct Member: Hashable, Sendable {
        var isDirectory: Bool
        var inode: UInt64
        var size: Int64
        var modified: Timestamp
        /// Tells new properties too.
        var changed: Timestamp

        /// A folder is the same as long as it is that folder: its members speak for themselves.
        init(_ attributes: FileAttributes) {
            isDirectory = attributes.isDirectory
            inode = attributes.inode
            size = isDirectory ? 0 : attributes.size
            modified = isDirectory ? Timestamp(seconds: 0) : attributes.modified
            changed = isDirectory ? Timestamp(seconds: 0) : attributes.changed
        }

        fileprivate init(_ record: inout SnapshotRecord) throws(SnapshotRecord.Damaged) {
            isDirectory = try record.number() == 1
            inode = UInt64(bitPattern: try record.number())
            size = try record.number()
            modified = Timestamp(
                seconds: try record.number(), nanoseconds: Int32(truncatingIfNeeded: try record.number()))
            changed = Timestamp(
                seconds: try record.number(), nanoseconds: Int32(truncatingIfNeeded: try record.number()))
        }

        fileprivate func write(to bytes: inout SnapshotRecord) {
            bytes.append(isDirectory ? 1 : 0)
            bytes.append(Int64(bitPattern: inode))
            bytes.append(size)
            bytes.append(modified.seconds)
            bytes.append(Int64(modified.nanoseconds))
            bytes.append(changed.seconds)
            bytes.append(Int64(changed.nanoseconds))
        }
    }

    /// One member that is not what it was.
    struct Change: Sendable {
        /// From the collection.
        let path: SharePath
        /// Nil when it is gone.
        let now: Member?
        /// What went; nil of what is there.
        let before: Member?
    }

    /// From the share's own beginning, so that a token of one folder means nothing in another.
    let place: SharePath
    let isRecursive: Bool
    /// By path from the collection.
    private(set) var members: [SharePath: Member] = [:]

    /// More than this is not kept.
    static let maxMembers = 100_000

    /// Without members: what somebody knows who asks for the first time.
    /// - Parameters:
    ///   - place: from the share's own beginning.
    ///   - isRecursive: whether members of members belong to it.
    init(of place: SharePath, isRecursive: Bool) {
        self.place = place
        self.isRecursive = isRecursive
    }

    /// Looks at every member.
    ///
    /// Waits for the disk.
    /// - Throws: ``RootError/tooMany`` when there are more than 100,000.
    init(of path: SharePath, in share: Share, isRecursive: Bool) throws(RootError) {
        place = try share.base.appending(path)
        self.isRecursive = isRecursive
        var ahead = [SharePath.root]
        var entered: Set<FolderIdentity> = []
        while let folder = ahead.popLast() {
            let cursor: DirectoryCursor
            do {
                cursor = try share.list(try path.appending(folder))
            } catch {
                // Gone since it was listed, or not to be read: its members are not there.
                guard !folder.isRoot, error == .notFound || error == .notDirectory || error == .forbidden else {
                    throw error
                }
                continue
            }
            // Links can lead back up: each folder is entered once.
            guard entered.insert(FolderIdentity(cursor.attributes)).inserted else { continue }
            while true {
                let found = try cursor.next(512)
                guard !found.isEmpty else { break }
                guard members.count + found.count <= Self.maxMembers else { throw .tooMany }
                for member in found {
                    let place = try folder.appending(member.name)
                    members[place] = Member(member.attributes)
                    if isRecursive, member.attributes.isDirectory { ahead.append(place) }
                }
            }
        }
    }

    /// Reads what ``bytes`` wrote; nil for anything else.
    init?(_ bytes: [UInt8]) {
        var record = SnapshotRecord(bytes: bytes)
        do {
            isRecursive = try record.number() == 1
            place = SharePath(unchecked: try record.name())
            while !record.isAtEnd {
                let name = SharePath(unchecked: try record.name())
                members[name] = try Member(&record)
            }
        } catch {
            return nil
        }
    }

    /// What changes on the way from `before` to this: new and changed members first, each group in order of its bytes, so
    /// that a folder comes before what is in it.
    func changes(since before: CollectionSnapshot) -> [Change] {
        let kept = before.isRecursive && !isRecursive ? before.members.filter { $0.key.depth == 1 } : before.members
        let changed = members.filter { kept[$0.key] != $0.value }.map {
            Change(path: $0.key, now: $0.value, before: nil)
        }
        let gone = kept.filter { members[$0.key] == nil }.map { Change(path: $0.key, now: nil, before: $0.value) }
        return Self.inOrder(changed) + Self.inOrder(gone)
    }

    /// The state of somebody who had `before` and was told only of `changes`; what they do not know of comes next time.
    ///
    /// RFC 6578 §3.6.
    func known(after changes: ArraySlice<Change>, since before: CollectionSnapshot) -> CollectionSnapshot {
        var known = CollectionSnapshot(of: place, isRecursive: isRecursive)
        known.members = before.members
        if before.isRecursive, !isRecursive { known.members = known.members.filter { $0.key.depth == 1 } }
        for change in changes { known.members[change.path] = change.now }
        return known
    }

    /// The same content gives the same bytes.
    var bytes: [UInt8] {
        var record = SnapshotRecord(bytes: [])
        record.append(isRecursive ? 1 : 0)
        record.append(name: place.bytes)
        for (name, member) in members.sorted(by: { $0.key.bytes.lexicographicallyPrecedes($1.key.bytes) }) {
            record.append(name: name.bytes)
            member.write(to: &record)
        }
        return record.bytes
    }

    private static func inOrder(_ changes: [Change]) -> [Change] {
        changes.sorted { $0.path.bytes.lexicographicallyPrecedes($1.path.bytes) }
    }
}

/// Numbers and names one after the other.
private struct SnapshotRecord {
    struct Damaged: Error {}

    private(set) var bytes: [UInt8]
    private var position = 0

    init(bytes: [UInt8]) { self.bytes = bytes }

    var isAtEnd: Bool { position >= bytes.count }

    mutating func append(_ number: Int64) {
        unsafe withUnsafeBytes(of: number.littleEndian) { unsafe bytes.append(contentsOf: $0) }
    }

    mutating func append(name: [UInt8]) {
        append(Int64(name.count))
        bytes += name
    }

    mutating func number() throws(Damaged) -> Int64 {
        guard bytes.count - position >= 8 else { throw Damaged() }
        var value: UInt64 = 0
        for offset in (0..<8).reversed() { value = value << 8 | UInt64(bytes[position + offset]) }
        position += 8
        return Int64(bitPattern: value)
    }

    mutating func name() throws(Damaged) -> [UInt8] {
        let count = try number()
        guard count >= 0, count <= Int64(bytes.count - position) else { throw Damaged() }
        defer { position += Int(count) }
        return Array(bytes[position..<position + Int(count)])
    }
}
