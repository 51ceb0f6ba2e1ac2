import CSyscalls
import NIOPosix
import Synchronization

/// The threads behind an ``IOPool``.
///
/// They also run the tasks that answer requests, as their preferred executor (SE-0417): such a task may wait for the
/// disk right where it is, and a request costs one hop to a thread and one back instead of one for each call.
///
/// They begin when there is something for them to do: to wait for them took an eighth of the program's start.
final class PoolThreads: TaskExecutor {
    let count: Int
    private let threads: NIOThreadPool
    private let stage = Mutex(Stage.idle)
    /// Whether `stage` is past `idle`, for a look without its lock.
    private let isPastIdle = Atomic(false)
    /// Jobs that no thread has begun with.
    private let waiting = Atomic<Int>(0)
    /// When a thread last began with one, or one came where none waited, by `sys_coarse_milliseconds`.
    private let movedAt = Atomic<Int64>(sys_coarse_milliseconds())

    private enum Stage {
        case idle, running, ended
    }

    init(count: Int) {
        self.count = max(1, count)
        threads = NIOThreadPool(numberOfThreads: self.count)
    }

    /// Has the threads begin, if they have not.
    private func begun() -> NIOThreadPool {
        guard !isPastIdle.load(ordering: .acquiring) else { return threads }
        stage.withLock { stage in
            guard stage == .idle else { return }
            threads.start()
            stage = .running
            isPastIdle.store(true, ordering: .releasing)
        }
        return threads
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        // A job runs even when the pool is ending: a task that never went on could never be waited for.
        noteWaiting()
        begun().submit { _ in
            self.noteBegun()
            unsafe job.runSynchronously(on: self.asUnownedTaskExecutor())
        }
    }

    /// Runs `work` on one of the threads; at once when the caller is on one already.
    func run<T: Sendable>(_ work: @escaping @Sendable () throws -> T) async throws -> T {
        let here = unsafe withUnsafeCurrentTask { unsafe $0?.unownedTaskExecutor }
        if unsafe here == asUnownedTaskExecutor() { return try work() }
        return try await begun().runIfActive(work)
    }

    /// Runs `work` some time.
    func submit(_ work: @escaping @Sendable () -> Void) {
        noteWaiting()
        begun().submit { _ in
            self.noteBegun()
            work()
        }
    }

    private func noteWaiting() {
        guard waiting.wrappingAdd(1, ordering: .relaxed).oldValue == 0 else { return }
        movedAt.store(sys_coarse_milliseconds(), ordering: .relaxed)
    }

    private func noteBegun() {
        waiting.wrappingSubtract(1, ordering: .relaxed)
        movedAt.store(sys_coarse_milliseconds(), ordering: .relaxed)
    }

    /// Whether there is work that waits for a thread.
    var isBusy: Bool { waiting.load(ordering: .relaxed) > 0 }

    /// Whether much waits, and no thread has begun with any of it for some seconds.
    var isStuck: Bool {
        waiting.load(ordering: .relaxed) > Self.much
            && sys_coarse_milliseconds() - movedAt.load(ordering: .relaxed) > Self.patience
    }

    private static let much = 256
    /// In milliseconds.
    private static let patience: Int64 = 3_000

    /// Lets those who wait for a thread go first, if any do.
    func giveWay() async {
        guard isBusy else { return }
        await withCheckedContinuation { continuation in submit { continuation.resume() } }
    }

    func shutDown() async {
        let isRunning = stage.withLock { stage in
            defer { stage = .ended }
            isPastIdle.store(true, ordering: .releasing)
            return stage == .running
        }
        // What still comes to those that never began is done by whoever brings it, as with those that have ended.
        if isRunning { try? await threads.shutdownGracefully() }
    }
}
