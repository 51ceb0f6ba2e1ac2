import Synchronization

/// Counts connections by their origin: a network that one customer has, or Unix-domain sockets.
final class ConnectionsPerAddress: Sendable {
    private let most: Int
    private let counts = Mutex<[NetworkAddress?: Int]>([:])

    /// - Parameter most: the limit per origin; 0 for no limit.
    init(most: Int) { self.most = most }

    /// - Parameters:
    ///   - limits: the configured limits.
    ///   - connections: the limit of all connections.
    convenience init(_ limits: Limits, of connections: Int) {
        let chosen = connections < 1_024 ? 0 : connections / 4 * 3
        self.init(most: limits.connectionsPerAddress > 0 ? limits.connectionsPerAddress : chosen)
    }

    /// Counts a connection.
    /// - Parameter network: ``NetworkAddress/network`` of its peer; nil for a Unix-domain socket.
    /// - Returns: false when there are too many from there; must be balanced by ``leave(_:)`` all the same.
    func enter(_ network: NetworkAddress?) -> Bool {
        guard most > 0 else { return true }
        return counts.withLock { counts in
            counts[network, default: 0] += 1
            return counts[network, default: 0] <= most
        }
    }

    /// Counts the end of a connection.
    func leave(_ network: NetworkAddress?) {
        guard most > 0 else { return }
        counts.withLock { counts in
            guard let count = counts[network] else { return }
            if count > 1 { counts[network] = count - 1 } else { counts.removeValue(forKey: network) }
        }
    }
}
