import Synchronization

/// The partial uploads that are part of a file by now, and those that are just being joined to one.
///
/// The joined ones are kept for a client that asks to join them again, but only as long as nobody needs their places.
final class JoinedUploads: Sendable {
    private struct Parts {
        /// The ids of those that are part of a file, oldest first.
        var done: [String] = []
        /// How many requests are joining a partial upload, by its id.
        var underWay: [String: Int] = [:]
    }

    private let parts = Mutex(Parts())
    private let limit: Int

    /// - Parameter limit: the most uploads that there are at a time.
    init(limit: Int) {
        self.limit = limit
    }

    /// Notes that the upload that was joined from these has become a file.
    /// - Parameter ids: of the partial uploads.
    func note(_ ids: [String]) {
        parts.withLock { parts in
            parts.done += ids
            // There are no more uploads than that: the others have expired.
            parts.done.removeFirst(max(0, parts.done.count - limit))
        }
    }

    /// Runs `body`, which joins these partial uploads and may take long: until it ends, nobody who needs their places
    /// removes them.
    /// - Parameters:
    ///   - ids: of the partial uploads.
    ///   - body: joins them.
    /// - Returns: the result of `body`.
    /// - Throws: what `body` throws.
    func joining<Answer>(_ ids: [String], _ body: () throws(RootError) -> Answer) throws(RootError) -> Answer {
        parts.withLock { parts in
            for id in ids { parts.underWay[id, default: 0] += 1 }
        }
        defer {
            parts.withLock { parts in
                for id in ids {
                    let others = parts.underWay[id, default: 1] - 1
                    parts.underWay[id] = others > 0 ? others : nil
                }
            }
        }
        return try body()
    }

    /// Gives up all that are part of a file, but for those that are being joined again.
    /// - Parameter remove: removes one with all its bytes.
    func forget(_ remove: (_ id: String) -> Void) {
        // Under the lock, so that nobody counts those that another thread is removing, or begins to join one.
        parts.withLock { parts in
            let kept = parts.done.filter { parts.underWay[$0] != nil }
            for id in parts.done where parts.underWay[id] == nil { remove(id) }
            parts.done = kept
        }
    }
}
