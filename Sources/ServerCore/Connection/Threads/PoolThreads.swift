import CSyscalls
import NIOPosix
import Synchronization

/// The threads behind an ``IOPool``.
///
/// They also run the tasks that answer requests, as their preferred executor (SE-0417): such a task may wait for the
/// disk without switching threads, and a request costs one hop to a thread and one back instead of one for each call.
///
/// They start on first need: waiting for them took an eighth of the program's start time.
final class PoolThreads: TaskExecutor {
    let count: Int
    private let threads: NIOThreadPool
    private let stage = Mutex(Stage.idle)
    /// Whether `stage` is past `idle`, readable without its lock.
    private let isPastIdle = Atomic(false)
    /// The number of jobs that no thread has begun.
    private let waiting = Atomic<Int>(0)
    /// When a thread last began a job, or one arrived while none waited, by `sys_coarse_milliseconds`.
    private let movedAt = Atomic<Int64>(sys_coarse_milliseconds())

    private enum Stage {
        case idle, running, ended
    }

    init(count: Int) {
        self.count = max(1, count)
        threads = NIOThreadPool(numberOfThreads: self.count)
    }

    /// Starts the threads if they have not been started.
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
        // A job runs even when the pool is ending: otherwise a task would never finish, and nobody could wait for it.
        noteWaiting()
        begun().submit { _ in
            self.noteBegun()
            unsafe job.runSynchronously(on: self.asUnownedTaskExecutor())
        }
    }

    /// Runs `work` on one of the threads; directly if the caller is already on one.
    /// - Parameters:
    ///   - isCancellable: whether work that still waits for a thread is dropped when its task is cancelled.
    ///   - work: what is to be done.
    /// - Returns: the result of `work`.
    /// - Throws: what `work` throws; `CancellationError` when it was dropped.
    func run<T: Sendable>(isCancellable: Bool = true, _ work: @escaping @Sendable () throws -> T) async throws -> T {
        let here = unsafe withUnsafeCurrentTask { unsafe $0?.unownedTaskExecutor }
        if unsafe here == asUnownedTaskExecutor() { return try work() }
        guard !isCancellable else { return try await begun().runIfActive(work) }
        return try await withCheckedThrowingContinuation { continuation in
            submit { continuation.resume(with: Result { try work() }) }
        }
    }

    /// Runs `work` on one of the threads, without waiting for it.
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

    /// Whether any work waits for a thread.
    var isBusy: Bool { waiting.load(ordering: .relaxed) > 0 }

    /// Whether much work waits, and no thread has begun any of it for some seconds.
    var isStuck: Bool {
        waiting.load(ordering: .relaxed) > Self.much
            && sys_coarse_milliseconds() - movedAt.load(ordering: .relaxed) > Self.patience
    }

    private static let much = 256
    /// In milliseconds.
    private static let patience: Int64 = 3_000

    /// Lets other waiting work run first, if there is any.
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
        // What is submitted to threads that were never started, or have ended, is run by the submitter.
        if isRunning { try? await threads.shutdownGracefully() }
    }
}
