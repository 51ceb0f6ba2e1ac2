import NIOPosix
import Synchronization

/// The threads behind an ``IOPool``.
///
/// They also run the tasks that answer requests, as their preferred executor (SE-0417): such a task may wait for the disk
/// right where it is, and a request costs one hop to a thread and one back instead of one for each call.
final class PoolThreads: TaskExecutor {
    let count: Int
    private let pool: NIOThreadPool
    /// Jobs that no thread has begun with.
    private let waiting = Atomic<Int>(0)

    init(count: Int) {
        self.count = max(1, count)
        pool = NIOThreadPool(numberOfThreads: self.count)
        pool.start()
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        // A job runs even when the pool is ending: a task that never went on could never be waited for.
        waiting.wrappingAdd(1, ordering: .relaxed)
        pool.submit { _ in
            self.waiting.wrappingSubtract(1, ordering: .relaxed)
            unsafe job.runSynchronously(on: self.asUnownedTaskExecutor())
        }
    }

    /// Runs `work` on one of the threads; at once when the caller is on one already.
    func run<T: Sendable>(_ work: @escaping @Sendable () throws -> T) async throws -> T {
        let here = unsafe withUnsafeCurrentTask { unsafe $0?.unownedTaskExecutor }
        if unsafe here == asUnownedTaskExecutor() { return try work() }
        return try await pool.runIfActive(work)
    }

    /// Runs `work` some time.
    func submit(_ work: @escaping @Sendable () -> Void) {
        waiting.wrappingAdd(1, ordering: .relaxed)
        pool.submit { _ in
            self.waiting.wrappingSubtract(1, ordering: .relaxed)
            work()
        }
    }

    /// Whether there is work that waits for a thread.
    var isBusy: Bool { waiting.load(ordering: .relaxed) > 0 }

    /// Lets those who wait for a thread go first.
    func giveWay() async {
        await withCheckedContinuation { continuation in submit { continuation.resume() } }
    }

    func shutDown() async {
        // Only fails for a pool that was never started.
        try? await pool.shutdownGracefully()
    }
}
