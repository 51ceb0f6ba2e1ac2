internal import DirectoryRoot
internal import ServerCore

/// What changed in a collection since a token was given out, made piece by piece while it is sent.
///
/// Used by one task at a time; each call waits for the disk. The token that the answer ends with is kept before the
/// first byte goes out, so that whatever keeps it from being kept can still be told. RFC 6578 §3.
final class ChangeStream: MultiStatusPieces, @unchecked Sendable {
    private(set) var first: [UInt8] = []
    private(set) var isAtEnd = false

    private let share: Share
    private let target: SharePath
    private let selection: PropertySelection
    private let locks: KnownLocks
    private let now: CollectionSnapshot
    private let before: CollectionSnapshot
    /// Places in `now` of what is new or changed, and in `before` of what is gone: as many as are told.
    private let changed: ArraySlice<Int>
    private let gone: ArraySlice<Int>
    /// Whether there is more than is told.
    private let isCut: Bool
    /// Of both together.
    private var position = 0
    private let token: SyncToken
    /// What both states take of the memory for all reports; given back with this.
    private let memory: TreeMemory.Portion
    private var writer: MultiStatusWriter

    private static let batch = 512
    /// Each member may carry a megabyte of properties, and every lock that covers it.
    private static let enoughBytes = 1 << 20

    /// Compares what is there with what the client knows, and begins the answer.
    ///
    /// Waits for the disk.
    /// - Parameters:
    ///   - target: the collection.
    ///   - share: the requester's view.
    ///   - query: what is asked.
    ///   - isMinimal: leaves 404s of properties out.
    ///   - prefix: what every address begins with.
    ///   - memory: where what both states take is counted.
    /// - Throws: 403 for a token that is not known, or not of this collection; 507 when the collection is too large;
    ///   ``RootError/tooMany`` when others fill the memory.
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
        // RFC 6578 §3.6: the token stands for what was told so far.
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

    /// What the client knows by the token that it shows.
    private static func known(
        _ query: SyncQuery, at place: SharePath, in store: SnapshotStore
    ) throws -> CollectionSnapshot {
        guard let token = query.token else { return CollectionSnapshot(of: place, isRecursive: query.isRecursive) }
        guard let content = try store.content(token.name), let kept = CollectionSnapshot(content), kept.place == place,
            kept.isRecursive || !query.isRecursive
        else { throw DAVError(status: .forbidden, condition: .validSyncToken) }
        return kept.isRecursive && !query.isRecursive ? kept.shallow : kept
    }

    /// Writes some changes, and the end behind the last one.
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

    /// Writes a member's properties; what went away since it was seen is told next time.
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
