import Synchronization

/// Downloads through share links that were counted a while ago, so that the same client may go on with one that broke
/// off without its being counted again.
///
/// Of this process; at another one, and after a restart, what goes on counts once more.
final class CountedDownloads: Sendable {
    /// One content, as one client asked for it.
    struct Key: Hashable {
        var link: String
        var address: NetworkAddress?
        /// Path and query.
        var target: [UInt8]
    }

    /// Milliseconds without a request after which a download is forgotten.
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

    /// Notes that this download was counted.
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
