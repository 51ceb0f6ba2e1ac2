internal import DirectoryRoot

/// Determines the current states of collections, each once: for conditions in an `If` field, by the tokens that
/// synchronising clients get.
///
/// RFC 6578 §5. This walks through a whole tree, also under the lock under which names change, so that nothing happens
/// between the condition and the change. So the number of members is limited: beyond it, the state is unknown, and no
/// token is current.
struct CollectionLook: Sendable {
    private struct Reach: Hashable {
        let path: SharePath
        let isRecursive: Bool
    }

    private enum State {
        /// The state of a collection.
        case known(SyncToken)
        case noCollection
        /// It has too many members.
        case unknown
    }

    private let share: Share
    private var found: [Reach: State] = [:]
    /// The most bytes of a stored snapshot that is considered: a larger one has more members than are examined.
    private static let maxBytes: UInt64 = 4 << 20
    /// How many more members of all collections may be examined.
    private var left = 10_000

    init(share: Share) { self.share = share }

    /// Whether this token, which must have been issued for the resource, is that of its current state.
    ///
    /// Waits for the disk.
    /// - Parameters:
    ///   - token: as sent.
    ///   - path: nil for a resource elsewhere.
    /// - Returns: nil when there is too much to examine.
    /// - Throws: what the disk reports.
    mutating func isCurrent(_ token: SyncToken, at path: SharePath?) throws(RootError) -> Bool? {
        guard let path else { return false }
        do throws(RootError) {
            let place = try share.base.appending(path)
            let store = share.root.state.snapshots
            guard let content = try store.content(token.name, upTo: Self.maxBytes) else {
                return try store.isLarge(token.name, over: Self.maxBytes) ? nil : false
            }
            guard let isRecursive = CollectionSnapshot.reach(of: content, at: place) else { return false }
            let reach = Reach(path: path, isRecursive: isRecursive)
            var now = found[reach]
            if now == nil { now = try state(reach) }
            found[reach] = now
            switch now {
            case .known(let current): return current == token
            case .noCollection: return false
            case .unknown, nil: return nil
            }
        } catch {
            switch error {
            case .notFound, .forbidden, .invalidName: return false
            default: throw error
            }
        }
    }

    private mutating func state(_ reach: Reach) throws(RootError) -> State {
        guard try share.existing(reach.path)?.isDirectory == true else { return .noCollection }
        do throws(RootError) {
            let snapshot = try CollectionSnapshot(
                of: reach.path, in: share, isRecursive: reach.isRecursive, most: left)
            left -= snapshot.count
            return .known(SyncToken(of: snapshot.bytes))
        } catch {
            guard error == .collectionTooLarge else { throw error }
            left = 0
            return .unknown
        }
    }
}
