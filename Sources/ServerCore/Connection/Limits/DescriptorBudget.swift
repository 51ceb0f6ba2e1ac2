/// How the process's descriptors are divided, so that files never take those that accepting connections needs.
///
/// A process without a free descriptor can't accept connections, and libdispatch aborts it when it can't examine its
/// threads.
struct DescriptorBudget: Equatable {
    /// The most connections in all.
    let connections: Int
    /// The most files and folders open at once, including sockets lent to uploads.
    let files: Int

    /// - Parameters:
    ///   - limit: the descriptors that the process may have.
    ///   - connections: the configured number.
    ///   - eventLoops: the number of the server's event loops; each needs some descriptors itself.
    init(limit: Int, connections: Int, eventLoops: Int) {
        // Without those for listeners, event loops, standard streams and libraries.
        let room = max(32, limit - 64 - 6 * eventLoops)
        let most = room < 512 ? room / 2 : room / 4 * 3
        self.connections = min(most, connections)
        files = room - self.connections
    }
}
