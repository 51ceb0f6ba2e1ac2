internal import DirectoryRoot
internal import ServerCore

extension Exchange {
    /// What is new, changed or gone in a collection since a token was given out.
    ///
    /// RFC 6578 §3.2. Other reports (RFC 3253 §3.6) are refused.
    func report() async throws -> Response {
        let depth = try Depth(of: request, missing: .zero)
        guard let slot = propfinds.take() else { throw RootError.tooMany }
        defer { withExtendedLifetime(slot) {} }
        let body = try await body()
        let root = try root(of: body)
        guard root.isDAV("sync-collection") else {
            throw DAVError(status: .forbidden, condition: .supportedReport)
        }
        guard depth == .zero else {
            throw HTTPError(.badRequest, "The Depth of this report must be 0; its sync-level says how far it reaches.")
        }
        let query = try SyncQuery(root)
        let prefer = Prefer(of: request)
        return try await onDisk { share in
            guard try share.attributes(of: path).isDirectory, !share.root.policy.isReadOnly else {
                throw DAVError(status: .forbidden, condition: .supportedReport)
            }
            try checkIf()
            var fields: ResponseFields = ["Content-Type": xmlMediaType]
            prefer.note(in: &fields)
            let bytes = try answer(query, isMinimal: prefer.isMinimal, in: share)
            return .multiStatus(bytes, to: request, fields: fields)
        }
    }

    private func answer(_ query: SyncQuery, isMinimal: Bool, in share: Share) throws -> [UInt8] {
        let store = share.root.state.snapshots
        let now = try snapshot(isRecursive: query.isRecursive, in: share)
        var before = CollectionSnapshot(of: now.place, isRecursive: query.isRecursive)
        if let token = query.token {
            guard let content = try store.content(token.name), let kept = CollectionSnapshot(content),
                kept.place == now.place, kept.isRecursive || !query.isRecursive
            else { throw DAVError(status: .forbidden, condition: .validSyncToken) }
            before = kept
        }
        let changes = now.changes(since: before)
        var writer = MultiStatusWriter(
            query.selection, isMinimal: isMinimal, prefix: request.prefix, space: nil, capacity: 65_536)
        writer.xml.append(MultiStatusWriter.begin)
        let locks = query.selection.needsLocks ? try KnownLocks(at: path, andBelow: true, in: share) : .none
        var told = 0
        for change in changes.prefix(query.limit ?? .max) where writer.xml.count < options.maxReportBytes {
            try append(change, locks, query.selection, to: &writer, in: share)
            told += 1
        }
        var state = now
        if told < changes.count {
            // RFC 6578 §3.6: the token stands for what was told so far.
            state = now.known(after: changes.prefix(told), since: before)
            writer.append(
                Place(path, isDirectory: true), status: .insufficientStorage, condition: .numberOfMatchesWithinLimits)
        }
        writer.xml.append("<D:sync-token>")
        writer.xml.append(bytes: try SyncToken(keeping: state, in: store).text.utf8)
        writer.xml.append("</D:sync-token>")
        writer.xml.append(MultiStatusWriter.end)
        return writer.xml.take()
    }

    /// Writes one member: its properties, or that it is gone.
    private func append(
        _ change: CollectionSnapshot.Change, _ locks: KnownLocks, _ selection: PropertySelection,
        to writer: inout MultiStatusWriter, in share: Share
    ) throws {
        let place = try path.appending(change.path)
        guard change.now != nil else {
            writer.append(Place(place, isDirectory: change.before?.isDirectory == true), status: .notFound)
            return
        }
        // What went away since the snapshot is told next time.
        guard let attributes = try existing(place) else { return }
        let dead = selection.needsDead ? try share.properties(of: place) : []
        if selection.needsChecksums { writer.checksums = try share.checksums(of: place) }
        var folder = place.parent.bytes
        if !folder.isEmpty { folder.append(UInt8(ascii: "/")) }
        writer.append(in: folder, name: place.name, attributes: attributes, dead: dead, locks: locks.covering(place))
    }

    /// The collection as it is now.
    private func snapshot(isRecursive: Bool, in share: Share) throws -> CollectionSnapshot {
        do {
            return try CollectionSnapshot(of: path, in: share, isRecursive: isRecursive)
        } catch RootError.tooMany {
            throw DAVError(status: .insufficientStorage, condition: .numberOfMatchesWithinLimits)
        }
    }
}

extension SyncToken {
    /// The token of `snapshot`, which is kept until the token comes back.
    fileprivate init(keeping snapshot: CollectionSnapshot, in store: SnapshotStore) throws(RootError) {
        let bytes = snapshot.bytes
        self.init(of: bytes)
        try store.keep(bytes, as: name)
    }

    /// The token of a collection and everything below it, as a property.
    ///
    /// RFC 6578 §4.
    ///
    /// Nil when it holds too much for one.
    init?(of path: SharePath, in share: Share) throws(RootError) {
        do {
            let snapshot = try CollectionSnapshot(of: path, in: share, isRecursive: true)
            try self.init(keeping: snapshot, in: share.root.state.snapshots)
        } catch {
            guard error == .tooMany else { throw error }
            return nil
        }
    }
}

/// The body of a `sync-collection` report.
///
/// RFC 6578 §6.1.
private struct SyncQuery: Sendable {
    /// Nil asks for everything.
    let token: SyncToken?
    let isRecursive: Bool
    let limit: Int?
    let selection: PropertySelection

    /// - Throws: 400 when it is no such body; 403 for a token of another server.
    init(_ root: XMLElement) throws {
        guard let properties = root.child("prop") else { throw DAVBody.notUnderstood }
        let text = root.child("sync-token")?.text.filter { !$0.isWhitespace } ?? ""
        token = text.isEmpty ? nil : SyncToken(text)
        guard text.isEmpty || token != nil else { throw DAVError(status: .forbidden, condition: .validSyncToken) }
        switch root.child("sync-level")?.text.trimmingBlanks ?? "1" {
        case "1": isRecursive = false
        case "infinite", "infinity": isRecursive = true
        default: throw DAVBody.notUnderstood
        }
        let wished = root.child("limit")?.child("nresults")?.text.trimmingBlanks
        limit = wished.flatMap { Int($0) }
        // RFC 6578 §3.7: no answer fits into nothing, and nothing is in a number that is none.
        guard wished == nil || (limit ?? 0) > 0 else {
            throw DAVError(status: .insufficientStorage, condition: .numberOfMatchesWithinLimits)
        }
        selection = try PropertySelection(prop: properties)
    }
}
