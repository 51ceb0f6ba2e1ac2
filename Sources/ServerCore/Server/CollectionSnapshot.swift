package import DirectoryRoot

/// The members of a collection at one moment, with everything in which a later moment can differ.
///
/// RFC 6578 §3.5.
package struct CollectionSnapshot: Sendable {
    /// What is stored about one member.
    package struct Member: Hashable, Sendable {
        let inode: UInt64
        /// For a folder, a number that stands for its properties: 0 for none.
        let size: Int64
        let modified: Timestamp
        /// Changes with new properties too.
        let changed: Timestamp
        package let isDirectory: Bool

        /// A folder is unchanged as long as it is the same folder with the same properties: changes of its members are
        /// reported for themselves, and change its times.
        init(_ attributes: FileAttributes, properties: Int64) {
            isDirectory = attributes.isDirectory
            inode = attributes.inode
            size = isDirectory ? properties : attributes.size
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

    /// One member: the position of its path among all names, and what is stored about it.
    private struct Row: Sendable {
        let start: UInt32
        let count: UInt32
        let member: Member

        var range: Range<Int> { Int(start)..<Int(start) + Int(count) }
    }

    /// From the share's own root, so that a token of one folder is invalid for another.
    package let place: SharePath
    package let isRecursive: Bool
    /// The paths from the collection, concatenated: an array for each would take three times the memory.
    private var names: [UInt8] = []
    /// In byte order of their paths.
    private var rows: [Row] = []

    /// The most members, and the most bytes of their paths, that a snapshot may have.
    package static let maxMembers = 100_000
    static let maxNameBytes = 16 << 20
    /// The most bytes of folders' properties that are read for a snapshot.
    private static let maxPropertyBytes = 16 << 20

    /// A snapshot without members: the state of a client that asks for the first time.
    /// - Parameters:
    ///   - place: from the share's own root.
    ///   - isRecursive: whether it includes members of members.
    package init(of place: SharePath, isRecursive: Bool) {
        self.place = place
        self.isRecursive = isRecursive
    }

    /// Examines every member.
    ///
    /// Waits for the disk.
    /// - Parameters:
    ///   - path: of the collection.
    ///   - share: the requester's view.
    ///   - isRecursive: whether it includes members of members.
    ///   - most: the most members.
    /// - Throws: ``RootError/collectionTooLarge`` when there are more, or their paths, or the properties of the folders
    ///   among them, exceed 16 MiB.
    package init(
        of path: SharePath, in share: Share, isRecursive: Bool, most: Int = Self.maxMembers
    ) throws(RootError) {
        place = try share.base.appending(path)
        self.isRecursive = isRecursive
        var (folder, cursor) = (SharePath.root, try share.list(path))
        var ahead = FoldersAhead(below: path, entered: cursor)
        var bytesLeft = Self.maxPropertyBytes
        while true {
            while true {
                let found = try cursor.next(512)
                guard !found.isEmpty else { break }
                for member in found {
                    let place = try folder.appending(member.name)
                    var properties: Int64 = 0
                    if member.attributes.isDirectory {
                        let full = try path.appending(place)
                        if member.mayHaveProperties {
                            properties = try Self.properties(of: full, in: share, &bytesLeft)
                        }
                        if isRecursive { ahead.add(full) }
                    }
                    append(place.bytes[...], Member(member.attributes, properties: properties))
                }
                guard rows.count <= most, names.count <= Self.maxNameBytes else { throw .collectionTooLarge }
            }
            guard let next = try ahead.next(in: share), let below = next.path.relative(to: path) else { break }
            (folder, cursor) = (below, next.cursor)
        }
        let names = names
        rows.sort { Self.name(of: $0, in: names).lexicographicallyPrecedes(Self.name(of: $1, in: names)) }
        // A folder that changes while it is read may return a member twice.
        var last: Row?
        rows.removeAll { row in
            defer { last = row }
            return last.map { Self.name(of: $0, in: names) == Self.name(of: row, in: names) } ?? false
        }
    }

    /// A number for a folder's properties; that of no properties for one that vanished or can't be opened.
    private static func properties(
        of path: SharePath, in share: Share, _ bytesLeft: inout Int
    ) throws(RootError) -> Int64 {
        let dead: [DeadProperty]
        do throws(RootError) {
            dead = try share.properties(of: path)
        } catch {
            guard error.meansAbsent else { throw error }
            return 0
        }
        guard !dead.isEmpty else { return 0 }
        var digester = Digester(.sha256)
        for property in dead {
            bytesLeft -= property.xml.count
            digester.update(property.xml)
        }
        guard bytesLeft >= 0 else { throw .collectionTooLarge }
        return digester.finish().prefix(8).reduce(0) { $0 << 8 | Int64($1) }
    }

    /// Parses what ``bytes`` wrote; nil for anything else.
    ///
    /// A client that was told only some of the changes may know of more than a collection has at once: twice as much.
    package init?(_ bytes: [UInt8]) {
        var record = SnapshotRecord(bytes: bytes)
        do {
            isRecursive = try record.number() == 1
            place = SharePath(unchecked: Array(try record.name()))
            while !record.isAtEnd {
                let name = try record.name()
                if let last = rows.last {
                    guard Self.name(of: last, in: names).lexicographicallyPrecedes(name) else { return nil }
                }
                guard rows.count < 2 * Self.maxMembers, name.count <= 2 * Self.maxNameBytes - names.count else {
                    return nil
                }
                append(name, try Member(&record))
            }
        } catch {
            return nil
        }
    }

    /// Whether a stored state, as ``bytes`` wrote it, is recursive; nil for one of another place, and for anything
    /// else.
    static func reach(of bytes: [UInt8], at place: SharePath) -> Bool? {
        var record = SnapshotRecord(bytes: bytes)
        guard let number = try? record.number(), let name = try? record.name(), name.elementsEqual(place.bytes) else {
            return nil
        }
        return number == 1
    }

    private mutating func append(_ name: ArraySlice<UInt8>, _ member: Member) {
        rows.append(Row(start: UInt32(names.count), count: UInt32(name.count), member: member))
        names += name
    }

    private static func name(of row: Row, in names: [UInt8]) -> ArraySlice<UInt8> {
        names[row.range]
    }

    private func name(_ index: Int) -> ArraySlice<UInt8> { Self.name(of: rows[index], in: names) }

    var count: Int { rows.count }

    /// Its size in memory, in bytes.
    package var byteCount: Int { names.capacity + rows.capacity * MemoryLayout<Row>.stride }

    /// From the collection.
    package func path(_ index: Int) -> SharePath { SharePath(unchecked: Array(name(index))) }

    package func member(_ index: Int) -> Member { rows[index].member }

    /// Only the direct members of the collection.
    package var shallow: CollectionSnapshot {
        var shallow = CollectionSnapshot(of: place, isRecursive: false)
        for index in rows.indices where !name(index).contains(UInt8(ascii: "/")) {
            shallow.append(name(index), rows[index].member)
        }
        return shallow
    }

    /// Passes on, in order of their paths, what either of two states has: its indices in the older and in the newer
    /// one.
    private static func walk(
        _ before: CollectionSnapshot, _ now: CollectionSnapshot, _ show: (_ old: Int?, _ new: Int?) -> Void
    ) {
        var (old, new) = (0, 0)
        while old < before.count, new < now.count {
            let (oldName, newName) = (before.name(old), now.name(new))
            if oldName.lexicographicallyPrecedes(newName) {
                show(old, nil)
                old += 1
            } else if newName.lexicographicallyPrecedes(oldName) {
                show(nil, new)
                new += 1
            } else {
                show(old, new)
                old += 1
                new += 1
            }
        }
        while old < before.count {
            show(old, nil)
            old += 1
        }
        while new < now.count {
            show(nil, new)
            new += 1
        }
    }

    /// The changes from `before` to this, as indices in byte order of the paths, so that a folder comes before its
    /// members.
    /// - Returns: the new and changed members, as indices in this; those that were removed, as indices in `before`.
    package func changes(since before: CollectionSnapshot) -> (changed: [Int], gone: [Int]) {
        var changes: (changed: [Int], gone: [Int]) = ([], [])
        Self.walk(before, self) { old, new in
            if let new {
                if old.map({ before.member($0) }) != member(new) { changes.changed.append(new) }
            } else if let old {
                changes.gone.append(old)
            }
        }
        return changes
    }

    /// The state of a client that had `before` and was told only some of the changes; the others follow with the next
    /// request.
    ///
    /// RFC 6578 §3.6.
    /// - Parameters:
    ///   - changed: how many of the new and changed members it was told, from the first.
    ///   - gone: how many of the removed ones.
    ///   - before: its state until then.
    /// - Returns: its state after that.
    package func known(afterChanged changed: Int, gone: Int, since before: CollectionSnapshot) -> CollectionSnapshot {
        var known = CollectionSnapshot(of: place, isRecursive: isRecursive)
        var (changedLeft, goneLeft) = (changed, gone)
        Self.walk(before, self) { old, new in
            if let new, old.map({ before.member($0) }) == member(new) || changedLeft > 0 {
                if old.map({ before.member($0) }) != member(new) { changedLeft -= 1 }
                known.append(name(new), member(new))
            } else if let old, new != nil || goneLeft == 0 {
                known.append(before.name(old), before.member(old))
            } else if old != nil {
                goneLeft -= 1
            }
        }
        return known
    }

    /// Equal contents give equal bytes.
    package var bytes: [UInt8] {
        var record = SnapshotRecord(bytes: [])
        record.reserve(names.count + place.bytes.count + 64 * (rows.count + 1))
        record.append(isRecursive ? 1 : 0)
        record.append(name: place.bytes[...])
        for index in rows.indices {
            record.append(name: name(index))
            rows[index].member.write(to: &record)
        }
        return record.bytes
    }
}

/// Numbers and names, one after the other.
private struct SnapshotRecord {
    struct Damaged: Error {}

    private(set) var bytes: [UInt8]
    private var position = 0

    init(bytes: [UInt8]) { self.bytes = bytes }

    var isAtEnd: Bool { position >= bytes.count }

    mutating func reserve(_ count: Int) { bytes.reserveCapacity(count) }

    mutating func append(_ number: Int64) {
        unsafe withUnsafeBytes(of: number.littleEndian) { unsafe bytes.append(contentsOf: $0) }
    }

    mutating func append(name: ArraySlice<UInt8>) {
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

    mutating func name() throws(Damaged) -> ArraySlice<UInt8> {
        let count = try number()
        guard count >= 0, count <= Int64(bytes.count - position) else { throw Damaged() }
        defer { position += Int(count) }
        return bytes[position..<position + Int(count)]
    }
}
