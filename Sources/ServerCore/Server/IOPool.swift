/// The bounded pool of threads for everything that may wait for a disk.
public struct IOPool: Sendable {
    let threads: PoolThreads?
    let passwords: WaitingLine?

    /// Runs the work at once, on the caller's thread: for tests.
    package static let inline = IOPool(threads: nil, passwords: nil)

    /// Runs `work` on a thread of the pool: right here where the caller is on one already, as every handler's task is.
    public func run<T: Sendable>(_ work: @escaping @Sendable () throws -> T) async throws -> T {
        guard let threads else { return try work() }
        return try await threads.run(work)
    }

    /// Runs work that is slow on purpose, behind all who wait for the like.
    /// - Throws: ``HTTPError`` 503 when too many wait; what `work` throws.
    func verify<T: Sendable>(_ work: @escaping @Sendable () throws -> T) async throws -> T {
        guard let passwords else { return try work() }
        return try await withCheckedThrowingContinuation { continuation in
            let isTaken = passwords.submit { continuation.resume(with: Result { try work() }) }
            if !isTaken { continuation.resume(throwing: WaitingLine.isFull) }
        }
    }
}
