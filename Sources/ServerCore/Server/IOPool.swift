/// The bounded pool of threads for everything that may wait for a disk.
public struct IOPool: Sendable {
    let threads: PoolThreads?

    /// Runs the work at once, on the caller's thread: for tests.
    package static let inline = IOPool(threads: nil)

    /// Runs `work` on a thread of the pool: right here where the caller is on one already, as every handler's task is.
    public func run<T: Sendable>(_ work: @escaping @Sendable () throws -> T) async throws -> T {
        guard let threads else { return try work() }
        return try await threads.run(work)
    }
}
