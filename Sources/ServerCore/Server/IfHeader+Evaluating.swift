package import DirectoryRoot

/// Evaluates an `If` field by the current state of the disk and the lock table.
///
/// RFC 4918 §10.4.3, §10.4.4.
extension IfHeader {
    /// The state of one resource.
    struct State {
        /// The tags of its content as it is and as gzip, since either may have been sent; empty for a folder and for
        /// nothing.
        var tags: [String]
        var locks: [ActiveLock]

        static let none = State(tags: [], locks: [])
    }

    /// Whether a request's field may contain the state of a collection, which can't be evaluated on an event loop.
    package static func mayNameCollections(in request: Request) -> Bool {
        request.fields["if"]?.contains(SyncToken.prefix) == true
    }

    /// Whether any of the lists is true; each resource in the field is looked up once.
    ///
    /// Waits for the disk.
    /// - Parameters:
    ///   - request: the request with the field.
    ///   - settled: the states of collections before the request's first change, which may itself alter them.
    ///   - earlier: the locks that were found the first time, for a request that looks again after its body.
    /// - Returns: false when a list depends on something that is not examined.
    /// - Throws: what the disk reports.
    package func holds(
        for request: Request, _ settled: SettledCollections? = nil, _ earlier: EarlierLocks? = nil
    ) throws(RootError) -> Bool {
        var looked: [SharePath: State] = [:]
        var collections = settled?.look ?? CollectionLook(share: request.share)
        for list in lists {
            // Well-formed, but on another server: nothing there has our tokens or tags.
            let path = Self.path(of: list, request)
            var state = State.none
            if let path { state = try self.state(of: path, for: request, &looked) }
            var holds = true
            for condition in list.conditions where holds {
                let isTrue: Bool? =
                    switch condition.subject {
                    case .state(let token):
                        state.locks.contains { $0.token == token }
                            || path.map {
                                earlier?.had(token, at: $0, isTarget: $0 == request.path, now: state) ?? false
                            } ?? false
                    case .entityTag(let tag): state.tags.contains(tag)
                    case .collection(let token): try collections.isCurrent(token, at: path)
                    }
                holds = isTrue.map { $0 != condition.isNegated } ?? false
            }
            if holds {
                settled?.keep(collections)
                earlier?.keep(looked)
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

    /// The entity tags and the locks of a resource; none if this requester may not see it.
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
    /// The same request, with the lock tokens of its `If` field submitted: its writes check that field until their very
    /// end.
    ///
    /// RFC 4918 §10.4.
    package func submitting(_ header: IfHeader) -> Request {
        var share = self.share
        share.tokens = header.tokens
        // Of several changes, the first may itself alter a collection's state.
        let settled = SettledCollections()
        let earlier = EarlierLocks()
        share.precondition = { () throws(RootError) in try header.holds(for: self, settled, earlier) }
        share.afterChange = { settled.changed() }
        return Request(storage: RequestStorage(storage, with: share))
    }
}
