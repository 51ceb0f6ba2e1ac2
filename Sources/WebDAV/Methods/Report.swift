internal import DirectoryRoot
internal import ServerCore

extension Exchange {
    /// What is new, changed or gone in a collection since a token was given out.
    ///
    /// RFC 6578 §3.2. Other reports (RFC 3253 §3.6) are refused.
    func report() async throws -> Response {
        let depth = try Depth(of: request, missing: .zero)
        let body = try await DAVBody.collect(request)
        let root = try DAVBody.read(body, charset: DAVBody.charset(of: request))
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
        var before: [SharePath: CollectionSnapshot.Member] = [:]
        if let token = query.token {
            guard let content = try store.content(token.name), let kept = CollectionSnapshot(content),
                kept.place == now.place, kept.isRecursive || !query.isRecursive
            else { throw DAVError(status: .forbidden, condition: .validSyncToken) }
            before = kept.members
            if kept.isRecursive, !query.isRecursive { before = before.filter { $0.key.depth == 1 } }
        }
        let changed = now.members.keys.filter { before[$0] != now.members[$0] }
        let gone = before.keys.filter { now.members[$0] == nil }
        if let limit = query.limit, changed.count + gone.count > limit {
            throw DAVError(status: .insufficientStorage, condition: .numberOfMatchesWithinLimits)
        }
        var writer = MultiStatusWriter(
            query.selection, isMinimal: isMinimal, prefix: request.prefix, space: nil, capacity: 65_536)
        writer.xml.append(MultiStatusWriter.begin)
        let locks = query.selection.needsLocks ? try KnownLocks(at: path, andBelow: true, in: share) : .none
        for member in changed.sorted(by: { $0.bytes.lexicographicallyPrecedes($1.bytes) }) {
            let place = try path.appending(member)
            // What went away since the snapshot is told next time.
            guard let attributes = try existing(place) else { continue }
            let dead = query.selection.needsDead ? try share.properties(of: place) : []
            if query.selection.needsChecksums { writer.checksums = try share.checksums(of: place) }
            var folder = place.parent.bytes
            if !folder.isEmpty { folder.append(UInt8(ascii: "/")) }
            writer.append(
                in: folder, name: place.name, attributes: attributes, dead: dead, locks: locks.covering(place))
        }
        for member in gone.sorted(by: { $0.bytes.lexicographicallyPrecedes($1.bytes) }) {
            let isDirectory = before[member]?.isDirectory == true
            writer.append(Place(try path.appending(member), isDirectory: isDirectory), status: .notFound)
        }
        writer.xml.append("<D:sync-token>")
        writer.xml.append(bytes: try SyncToken(keeping: now, in: store).text.utf8)
        writer.xml.append("</D:sync-token>")
        writer.xml.append(MultiStatusWriter.end)
        return writer.xml.take()
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
        selection = try PropertySelection(prop: properties)
    }
}
