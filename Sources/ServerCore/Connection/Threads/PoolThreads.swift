import CSyscalls
import DirectoryRoot
import Dispatch
import NIOCore
import Synchronization

/// The threads behind an ``IOPool``.
///
/// They also run the tasks that answer requests, as their preferred executor (SE-0417): such a task may wait for the
/// disk without switching threads, and a request costs one hop to a thread and one back instead of one for each call.
///
/// They start on first need: waiting for them took an eighth of the program's start time. Not NIO's, which end the
/// process when the system has no more threads: here those that there are do the work, and others join them later.
final class PoolThreads: TaskExecutor {
    /// How many there are, unless the system has too few.
    let count: Int
    private let state = Mutex(State())
    /// Whether there is a thread or the end has come, readable without the lock.
    private let isBegun = Atomic(false)
    /// The number of jobs that no thread has begun.
    private let waiting = Atomic<Int>(0)
    /// When a thread last began a job, or one arrived while none waited, by `sys_coarse_milliseconds`.
    private let movedAt = Atomic<Int64>(sys_coarse_milliseconds())
    /// What the system shows the threads as.
    private let name: String

    private struct State {
        var work = CircularBuffer<@Sendable () -> Void>()
        /// What each thread that has nothing to do waits for: the one that has worked last is at the end.
        var idle: [DispatchSemaphore] = []
        var threads = 0
        var hasEnded = false
        var waiters: [@Sendable () -> Void] = []
    }

    init(count: Int, named name: String = "disk") {
        self.count = max(1, count)
        self.name = name
    }

    /// Starts the threads if they have not been started.
    /// - Returns: false when there is none, since the system has no more.
    func begin() -> Bool {
        if isBegun.load(ordering: .relaxed) { return true }
        return state.withLock { state in
            startThreads(&state)
            return state.threads > 0 || state.hasEnded
        }
    }

    private func startThreads(_ state: inout State) {
        guard !state.hasEnded else { return }
        while state.threads < count, OwnThread.start(name, { [self] in work() }) { state.threads += 1 }
        if state.threads > 0 { isBegun.store(true, ordering: .relaxed) }
    }

    /// What each thread does.
    private func work() {
        let call = DispatchSemaphore(value: 0)
        while let next = nextWork(call) {
            noteBegun()
            next()
        }
        let waiters = state.withLock { state -> [@Sendable () -> Void] in
            state.threads -= 1
            return state.threads == 0 ? state.waiters : []
        }
        for waiter in waiters { waiter() }
    }

    /// Waits until there is work.
    /// - Parameter call: the thread's own.
    /// - Returns: nil in the end.
    private func nextWork(_ call: DispatchSemaphore) -> (@Sendable () -> Void)? {
        while true {
            let (next, hasEnded) = state.withLock { state in
                let next = state.work.popFirst()
                if next == nil, !state.hasEnded { state.idle.append(call) }
                return (next, state.hasEnded)
            }
            if next != nil || hasEnded { return next }
            call.wait()
        }
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        // A job runs even when the pool is ending: otherwise a task would never finish, and nobody could wait for it.
        submit { unsafe job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }

    /// Runs `work` on one of the threads; directly if the caller is already on one.
    /// - Parameters:
    ///   - isCancellable: whether work that still waits for a thread is dropped when its task is cancelled.
    ///   - work: what is to be done.
    /// - Returns: the result of `work`.
    /// - Throws: what `work` throws; `CancellationError` when it was dropped; ``HTTPError`` 503 without any thread.
    func run<T: Sendable>(isCancellable: Bool = true, _ work: @escaping @Sendable () throws -> T) async throws -> T {
        let here = unsafe withUnsafeCurrentTask { unsafe $0?.unownedTaskExecutor }
        if unsafe here == asUnownedTaskExecutor() { return try work() }
        guard begin() else { throw HTTPError.noThread }
        guard isCancellable else {
            return try await withCheckedThrowingContinuation { continuation in
                submit { continuation.resume(with: Result { try work() }) }
            }
        }
        guard !state.withLock(\.hasEnded) else { throw CancellationError() }
        return try await withTaskExecutorPreference(self) {
            try Task.checkCancellation()
            return try work()
        }
    }

    /// Runs `work` on one of the threads, without waiting for it; after the end, on the caller's.
    ///
    /// Without any thread, it waits until there is one, which each further piece of work tries to start.
    func submit(_ work: @escaping @Sendable () -> Void) {
        noteWaiting()
        let (isTaken, idle) = state.withLock { state -> (Bool, DispatchSemaphore?) in
            guard !state.hasEnded else { return (false, nil) }
            state.work.append(work)
            // Those that are missing are missed when all others are busy.
            if state.threads < count, state.idle.isEmpty { startThreads(&state) }
            // What the one needs that has worked last is still in the processor's caches.
            return (true, state.idle.popLast())
        }
        if isTaken {
            idle?.signal()
        } else {
            noteBegun()
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

    /// Has the threads end after the work that waits for them, and waits for that.
    func shutDown() async {
        await withCheckedContinuation { continuation in end { continuation.resume() } }
    }

    /// Has the threads end after the work that waits for them.
    /// - Parameter whenOver: called after that, on any thread.
    func end(_ whenOver: @escaping @Sendable () -> Void) {
        let ended = state.withLock { state in
            state.hasEnded = true
            isBegun.store(true, ordering: .relaxed)
            let ended = state
            state.idle = []
            if state.threads == 0 { state.work = [] }
            return ended
        }
        for call in ended.idle { call.signal() }
        for work in ended.threads == 0 ? ended.work : [] {
            noteBegun()
            work()
        }
        let isOver = state.withLock { state in
            if state.threads > 0 { state.waiters.append(whenOver) }
            return state.threads == 0
        }
        if isOver { whenOver() }
    }
}
