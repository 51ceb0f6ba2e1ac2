internal import DirectoryRoot

/// Finds out which states collections are in, each once: what an `If` field may say of them, by the tokens that
/// synchronising clients are given.
///
/// RFC 6578 §5. That takes a walk through all of a tree, also under the lock under which names change, so that nothing
/// comes between what was said and what is done. So it is one through few members: of more, nothing is found out, and
/// no token is current.
struct CollectionLook: Sendable {
    private struct Reach: Hashable {
        let path: SharePath
        let isRecursive: Bool
    }

    private enum State {
        /// Of a collection.
        case known(SyncToken)
        case noCollection
        /// It holds too much.
        case unknown
    }

    private let share: Share
    private var found: [Reach: State] = [:]
    /// More bytes than this have what is kept of more members than are looked at.
    private static let maxBytes: UInt64 = 4 << 20
    /// Members of all collections together.
    private var left = 10_000

    init(share: Share) { self.share = share }

    /// Whether this token, which must have been given out for the resource, is of what it is now.
    ///
    /// Waits for the disk.
    /// - Parameters:
    ///   - token: as sent.
    ///   - path: nil for a resource elsewhere.
    /// - Returns: nil where more is to be looked at than this does.
    /// - Throws: what the disk says.
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
