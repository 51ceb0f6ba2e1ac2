package import DirectoryRoot

/// What an `If` field says of the resources that it names, by what is on the disk and in the lock table now.
///
/// RFC 4918 §10.4.3, §10.4.4.
extension IfHeader {
    /// What is known of one resource.
    private struct State {
        /// Of the content as it is and as gzip, as either may have been given out; none of a folder and of nothing.
        var tags: [String]
        var locks: [ActiveLock]

        static let none = State(tags: [], locks: [])
    }

    /// Whether a request's field may name the state of a collection, which is no question for an event loop.
    package static func mayNameCollections(in request: Request) -> Bool {
        request.fields["if"]?.contains(SyncToken.prefix) == true
    }

    /// Whether any of the lists holds; each resource that is named is looked up once.
    ///
    /// Waits for the disk.
    /// - Parameters:
    ///   - request: whose field it is.
    ///   - settled: what the request's first change found collections to be, which is no more so after it.
    /// - Returns: false where a list depends on what is not looked at.
    /// - Throws: what the disk says.
    package func holds(for request: Request, _ settled: SettledCollections? = nil) throws(RootError) -> Bool {
        var looked: [SharePath: State] = [:]
        var collections = settled?.look ?? CollectionLook(share: request.share)
        for list in lists {
            // Well-formed, but elsewhere: nothing there has our tokens or tags.
            let path = Self.path(of: list, request)
            var state = State.none
            if let path { state = try self.state(of: path, for: request, &looked) }
            var holds = true
            for condition in list.conditions where holds {
                let isTrue: Bool? =
                    switch condition.subject {
                    case .state(let token): state.locks.contains { $0.token == token }
                    case .entityTag(let tag): state.tags.contains(tag)
                    case .collection(let token): try collections.isCurrent(token, at: path)
                    }
                holds = isTrue.map { $0 != condition.isNegated } ?? false
            }
            if holds {
                settled?.keep(collections)
                return true
            }
        }
        return false
    }

    private func state(
        of path: SharePath, for request: Request, _ looked: inout [SharePath: State]
    ) throws(RootError) -> State {
        if let known = looked[path] { return known }
        let state = try Self.look(at: path, request.share)
        looked[path] = state
        return state
    }

    /// The resource that a list is about; nil for one that is not on this server.
    private static func path(of list: List, _ request: Request) -> SharePath? {
        guard let resource = list.resource else { return request.path }
        return try? request.resolve(reference: resource).path
    }

    /// The entity tag and the locks of a resource; none of one that this requester may not see.
    private static func look(at path: SharePath, _ share: Share) throws(RootError) -> State {
        do {
            let file = try share.existing(path).flatMap { $0.isDirectory ? nil : $0 }
            return State(
                tags: file.map { [$0.entityTag.text, $0.entityTag.gzipText] } ?? [],
                locks: try share.locks(covering: path))
        } catch {
            switch error {
            case .notFound, .forbidden, .invalidName: return .none
            default: throw error
            }
        }
    }
}

extension Request {
    /// The same request, with the lock tokens of its `If` field submitted: its writes hold to that field until their
    /// very end.
    ///
    /// RFC 4918 §10.4.
    package func submitting(_ header: IfHeader) -> Request {
        var share = self.share
        share.tokens = header.tokens
        // Of several changes, the first may be what changes a collection.
        let settled = SettledCollections()
        share.precondition = { () throws(RootError) in try header.holds(for: self, settled) }
        share.afterChange = { settled.changed() }
        return Request(storage: RequestStorage(storage, with: share))
    }
}
