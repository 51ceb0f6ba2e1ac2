internal import DirectoryRoot

/// What an `If` field says of the states of collections, by the tokens that synchronising clients are given.
///
/// RFC 6578 §5. Whether a state is still there takes a walk through all of a tree. So it is found out once, before
/// anything is done, and not again under the lock under which names change: nobody could write meanwhile.
extension IfHeader {
    /// Whether a request's field may name such a state.
    package static func mayNameCollections(in request: Request) -> Bool {
        request.fields["if"]?.contains(SyncToken.prefix) == true
    }

    /// The same claims, with those about states of collections settled.
    ///
    /// - Parameters:
    ///   - request: whose field it is.
    ///   - memory: where what is remembered meanwhile is counted.
    /// - Returns: this, where there are none.
    /// - Throws: ``RootError/tooMany`` when others fill the memory; what the disk says.
    package func settlingCollections(for request: Request, memory: TreeMemory.Portion) async throws -> IfHeader {
        guard lists.contains(where: { $0.conditions.contains(where: \.isOfCollection) }) else { return self }
        return try await request.io.look {
            var look = CollectionLook(share: request.share, memory: memory)
            var settled = self
            for (index, list) in lists.enumerated() {
                let path = Self.path(of: list, request)
                for (place, condition) in list.conditions.enumerated() {
                    guard case .collection(let token) = condition.subject else { continue }
                    var isTrue = false
                    if let path { isTrue = try look.isCurrent(token, at: path) }
                    settled.lists[index].conditions[place].subject = .settled(isTrue)
                }
            }
            return settled
        }
    }
}

/// Finds out which states collections are in, each once.
private struct CollectionLook {
    private struct Reach: Hashable {
        let path: SharePath
        let isRecursive: Bool
    }

    private let share: Share
    private let memory: TreeMemory.Portion
    private var found: [Reach: SyncToken?] = [:]

    init(share: Share, memory: TreeMemory.Portion) {
        self.share = share
        self.memory = memory
    }

    /// Whether this token, which must have been given out for the resource, is of what it is now.
    mutating func isCurrent(_ token: SyncToken, at path: SharePath) throws(RootError) -> Bool {
        do {
            let place = try share.base.appending(path)
            guard let content = try share.root.state.snapshots.content(token.name),
                let isRecursive = CollectionSnapshot.reach(of: content, at: place)
            else { return false }
            let reach = Reach(path: path, isRecursive: isRecursive)
            if let known = found[reach] { return known == token }
            let now = try state(reach)
            found[reach] = .some(now)
            return now == token
        } catch {
            switch error {
            case .notFound, .forbidden, .invalidName: return false
            default: throw error
            }
        }
    }

    /// Nil for what is no collection, or one that holds too much for a token.
    private func state(_ reach: Reach) throws(RootError) -> SyncToken? {
        guard try share.existing(reach.path)?.isDirectory == true else { return nil }
        let snapshot: CollectionSnapshot
        do {
            snapshot = try CollectionSnapshot(of: reach.path, in: share, isRecursive: reach.isRecursive)
        } catch {
            guard error == .tooMany else { throw error }
            return nil
        }
        try memory.hold(snapshot.byteCount)
        return SyncToken(of: snapshot.bytes)
    }
}
