internal import DirectoryRoot
internal import ServerCore

/// The changes in a collection since a token was given out, produced piece by piece while they are sent.
///
/// Used by one task at a time; each call waits for the disk. The token at the end of the response is stored
/// before the first byte is sent, so that a failure to store it can still be reported. RFC 6578 §3.
final class ChangeStream: MultiStatusPieces, @unchecked Sendable {
    private(set) var first: [UInt8] = []
    private(set) var isAtEnd = false

    private let share: Share
    private let target: SharePath
    private let selection: PropertySelection
    private let locks: KnownLocks
    private let now: CollectionSnapshot
    private let before: CollectionSnapshot
    /// Indices in `now` of the members that are new or changed, and in `before` of those that are gone: as many as are
    /// reported.
    private let changed: ArraySlice<Int>
    private let gone: ArraySlice<Int>
    /// Whether there are more changes than are reported.
    private let isCut: Bool
    /// The number of entries of `changed`, then of `gone`, that have been written.
    private var position = 0
    private let token: SyncToken
    /// What both snapshots take of the memory for all reports; given back with this object.
    private let memory: TreeMemory.Portion
    private var writer: MultiStatusWriter

    private static let batch = 512
    /// One member may carry a megabyte of properties, and every lock that covers it.
    private static let enoughBytes = 1 << 20

    /// Compares the collection with what the client knows, and begins the response.
    ///
    /// Waits for the disk.
    /// - Parameters:
    ///   - target: the collection.
    ///   - share: the requester's view.
    ///   - query: the body of the report.
    ///   - isMinimal: leaves out properties that are not found (404).
    ///   - prefix: what every `href` begins with.
    ///   - memory: counts what both snapshots take.
    /// - Throws: 403 for a token that is unknown or of another collection; 507 when the collection is too large;
    ///   ``RootError/tooMany`` when others have filled the memory.
    init(
        of target: SharePath, in share: Share, _ query: SyncQuery, isMinimal: Bool, prefix: String,
        memory: TreeMemory.Portion
    ) throws {
        self.share = share
        self.target = target
        self.memory = memory
        selection = query.selection
        let store = share.root.state.snapshots
        now = try Self.snapshot(of: target, in: share, isRecursive: query.isRecursive)
        try memory.hold(now.byteCount)
        before = try Self.known(query, at: now.place, in: store)
        let changes = now.changes(since: before)
        try memory.hold(
            now.byteCount + before.byteCount
                + (changes.changed.capacity + changes.gone.capacity) * MemoryLayout<Int>.stride)
        let limit = query.limit ?? .max
        changed = changes.changed.prefix(limit)
        gone = changes.gone.prefix(limit - changed.count)
        isCut = changed.count + gone.count < changes.changed.count + changes.gone.count
        // RFC 6578 §3.6: the token stands for what has been reported so far.
        token = try SyncToken(
            keeping: isCut ? now.known(afterChanged: changed.count, gone: gone.count, since: before) : now, in: store)
        locks = selection.needsLocks ? try KnownLocks(at: target, andBelow: true, in: share) : .none
        writer = MultiStatusWriter(selection, isMinimal: isMinimal, prefix: prefix, space: nil, capacity: 65_536)
        writer.xml.append(MultiStatusWriter.begin)
        try fill()
        first = writer.xml.take()
    }

    func next(isCrowded: Bool) throws -> [UInt8]? {
        guard !isAtEnd else { return nil }
        try fill()
        return writer.xml.take()
    }

    /// The collection as it is now.
    private static func snapshot(
        of target: SharePath, in share: Share, isRecursive: Bool
    ) throws -> CollectionSnapshot {
        do {
            return try CollectionSnapshot(of: target, in: share, isRecursive: isRecursive)
        } catch RootError.collectionTooLarge {
            throw DAVError(status: .insufficientStorage, condition: .numberOfMatchesWithinLimits)
        }
    }

    /// The collection as the client knows it, by the token that it sent.
    private static func known(
        _ query: SyncQuery, at place: SharePath, in store: SnapshotStore
    ) throws -> CollectionSnapshot {
        guard let token = query.token else { return CollectionSnapshot(of: place, isRecursive: query.isRecursive) }
        guard let content = try store.content(token.name), let kept = CollectionSnapshot(content), kept.place == place,
            kept.isRecursive || !query.isRecursive
        else { throw DAVError(status: .forbidden, condition: .validSyncToken) }
        return kept.isRecursive && !query.isRecursive ? kept.shallow : kept
    }

    /// Writes some changes, and the end after the last one.
    private func fill() throws {
        var wanted = Self.batch
        while wanted > 0, writer.xml.count < Self.enoughBytes {
            if position < changed.count {
                try append(now.path(changed[position]))
            } else if position - changed.count < gone.count {
                let index = gone[position - changed.count]
                let place = try target.appending(before.path(index))
                writer.append(Place(place, isDirectory: before.member(index).isDirectory), status: .notFound)
            } else {
                return end()
            }
            position += 1
            wanted -= 1
        }
    }

    /// Writes a member's properties; one that has gone since the snapshot is reported the next time.
    private func append(_ path: SharePath) throws {
        let place = try target.appending(path)
        guard let attributes = try share.existing(place) else { return }
        let dead: [DeadProperty]
        (dead, writer.checksums) = try selection.kept(of: place, in: share)
        var folder = place.parent.bytes
        if !folder.isEmpty { folder.append(UInt8(ascii: "/")) }
        writer.append(in: folder, name: place.name, attributes: attributes, dead: dead, locks: locks.covering(place))
    }

    private func end() {
        if isCut {
            writer.append(
                Place(target, isDirectory: true), status: .insufficientStorage, condition: .numberOfMatchesWithinLimits)
        }
        writer.xml.append("<D:sync-token>")
        writer.xml.append(bytes: token.text.utf8)
        writer.xml.append("</D:sync-token>")
        writer.xml.append(MultiStatusWriter.end)
        isAtEnd = true
    }
}
