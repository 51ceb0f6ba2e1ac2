/// The threads for what is on far file systems below the root (``FarMounts``): their own, so that one that hangs holds up
/// nobody who asks for something else.
///
/// There are few pools, and each far file system has one of them, by its number. Their threads begin on first need.
struct FarPools: Sendable {
    private static let count: UInt64 = 4
    private static let mostThreads = 8

    private let pools: [IOPool]

    /// - Parameters:
    ///   - near: the pool for all else.
    ///   - passwords: where passwords are hashed.
    ///   - limits: the server's.
    init(beside near: PoolThreads, passwords: WaitingLine, _ limits: Limits) {
        pools = (0..<Self.count).map { _ in
            IOPool(
                threads: PoolThreads(count: min(near.count, Self.mostThreads)), passwords: passwords, limits,
                isFar: true)
        }
    }

    /// The pool of a file system.
    subscript(device: UInt64) -> IOPool { pools[Int(device % Self.count)] }

    func shutDown() async {
        for pool in pools { await pool.threads?.shutDown() }
    }
}
