/// How the descriptors that a process may have are shared out, so that files never take what accepting needs.
///
/// A process without a free descriptor accepts nobody, and libdispatch ends it when it cannot look at its threads.
struct DescriptorBudget: Equatable {
    /// Connections in all.
    let connections: Int
    /// Files and folders open at once, and the sockets lent to uploads.
    let files: Int

    /// - Parameters:
    ///   - limit: descriptors that the process may have.
    ///   - connections: how many are wished for.
    ///   - eventLoops: of the server; each has some of its own.
    init(limit: Int, connections: Int, eventLoops: Int) {
        // For listeners, event loops, standard streams and libraries.
        let room = max(32, limit - 64 - 4 * eventLoops)
        let most = room < 512 ? room / 2 : room / 4 * 3
        self.connections = min(most, connections)
        files = room - self.connections
    }
}
