import Synchronization

/// Recent downloads through share links that were already counted, so that the same client may continue an interrupted
/// one without being counted again.
///
/// Known to this process only; at another one, and after a restart, a continuation counts once more.
final class CountedDownloads: Sendable {
    /// One content, as one client requested it.
    struct Key: Hashable {
        var link: String
        var address: NetworkAddress?
        /// The path and query.
        var target: [UInt8]
    }

    /// How long a download is remembered without a request, in milliseconds.
    static let memory: Int64 = 24 * 3_600_000
    private static let limit = 4_096

    private let known = Mutex<[Key: Int64]>([:])
    private let clock: @Sendable () -> Int64

    /// No downloads.
    /// - Parameter clock: milliseconds that never go back.
    init(clock: @escaping @Sendable () -> Int64) { self.clock = clock }

    /// Whether this download was counted.
    func contains(_ key: Key) -> Bool {
        let now = clock()
        return known.withLock { known in
            guard let last = known[key], now - last < Self.memory else { return false }
            known[key] = now
            return true
        }
    }

    /// Records that this download was counted.
    func add(_ key: Key) {
        let now = clock()
        known.withLock { known in
            if known.count >= Self.limit { known = known.filter { now - $0.value < Self.memory } }
            if known.count >= Self.limit, let oldest = known.min(by: { $0.value < $1.value }) {
                known[oldest.key] = nil
            }
            known[key] = now
        }
    }
}
