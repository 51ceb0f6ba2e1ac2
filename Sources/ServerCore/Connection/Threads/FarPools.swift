import DirectoryRoot
import Synchronization

/// Separate threads for what is on far file systems below the root (``FarMounts``), so that one that hangs holds up no
/// requests for anything else.
///
/// Each far file system has a pool, found by its device number, up to a limit; further ones share theirs. Threads start
/// on first need.
final class FarPools: Sendable {
    private static let most = 16
    private static let mostThreads = 8

    private let pools = Mutex<[(device: UInt64, pool: IOPool)]>([])
    private let root: DirectoryRoot
    private let threadsEach: Int
    private let passwords: WorkQueue
    private let limits: Limits

    /// - Parameters:
    ///   - root: the root that they are below.
    ///   - near: the pool for everything else.
    ///   - passwords: the queue in which passwords are hashed.
    ///   - limits: the server's limits.
    init(below root: DirectoryRoot, beside near: PoolThreads, passwords: WorkQueue, _ limits: Limits) {
        self.root = root
        threadsEach = min(near.count, Self.mostThreads)
        self.passwords = passwords
        self.limits = limits
    }

    /// The pool of a file system.
    subscript(device: UInt64) -> IOPool {
        pools.withLock { pools in
            if let known = pools.first(where: { $0.device == device }) { return known.pool }
            guard pools.count < Self.most else {
                // A file system that is mounted on demand has another device number each time.
                guard let unused = pools.firstIndex(where: { !root.hasFarMount(device: $0.device) }) else {
                    return pools[Int(device % UInt64(Self.most))].pool
                }
                pools[unused].device = device
                return pools[unused].pool
            }
            let pool = IOPool(threads: PoolThreads(count: threadsEach), passwords: passwords, limits, isFar: true)
            pools.append((device, pool))
            return pool
        }
    }

    /// The threads of all pools.
    var threads: [PoolThreads] { pools.withLock { $0.compactMap(\.pool.threads) } }
}
