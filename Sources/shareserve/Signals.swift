import CSyscalls
import DirectoryRoot
import Dispatch
import Logging
import ServerCore
import Synchronization

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// How the process reacts to signals.
final class Signals: Sendable {
    /// A file that is read again on SIGHUP.
    struct Reading: Sendable {
        /// The log message after success.
        let done: Logger.Message
        /// The log message after a failure; what was read before then stays in force.
        let failed: Logger.Message
        let read: @Sendable () throws -> Void
    }

    /// The result of ``trap()``.
    let arriving: AsyncStream<Int32>
    let server: Server
    /// How long running transfers may go on after the first signal to end.
    let grace: Duration
    let logger: Logger
    let accessLog: AccessLog?
    let readings: [Reading]
    /// A separate queue for the log messages: signals must be obeyed even if nobody reads the log.
    private let speaking = DispatchQueue(label: "signals")
    /// Held while files are read again.
    private let readingLock = Mutex(())
    /// Whether files are to be read again, and nobody has begun to.
    private let isReloadDue = Atomic<Bool>(false)

    init(
        arriving: AsyncStream<Int32>, server: Server, grace: Duration, logger: Logger, accessLog: AccessLog?,
        readings: [Reading]
    ) {
        self.arriving = arriving
        self.server = server
        self.grace = grace
        self.logger = logger
        self.accessLog = accessLog
        self.readings = readings
    }

    /// Ignores signals that must not end a daemon: the peer has gone (SIGPIPE), or a file exceeds the process's size
    /// limit (SIGXFSZ); and those that other servers rotate their logs at (SIGUSR1, SIGUSR2).
    static func ignoreFatalOnes() {
        for number in [SIGPIPE, SIGXFSZ, SIGUSR1, SIGUSR2] { signal(number, SIG_IGN) }
    }

    /// Gives signals to end their usual effect on the first process of a container, which the kernel spares all default
    /// actions.
    static func endFirstProcess() {
        guard getpid() == 1 else { return }
        for number in [SIGTERM, SIGINT, SIGHUP] where sys_has_default_action(number) {
            // The status of a process that a signal ended, as shells report it.
            signal(number) { _exit(128 + $0) }
        }
    }

    /// Where signals are queued until they are obeyed; nil while they have their default action.
    private static let queue = Mutex<AsyncStream<Int32>.Continuation?>(nil)

    /// How many signals to end were queued, and are not obeyed yet.
    private static let unobeyed = Atomic<Int>(0)
    /// Whether the first thread is queueing a signal.
    private static let isQueueing = Atomic<Bool>(false)
    /// How many alarms have found a signal to end waiting for that.
    private static let vainAlarms = Atomic<Int>(0)

    /// Has the signals wait for ``receive()``; to be called while there is only one thread, whose mask all others get.
    static func hold() {
        // An alarm of whoever started the program is not for the server.
        alarm(0)
        mask(SIG_BLOCK, [SIGTERM, SIGINT, SIGHUP, SIGALRM])
    }

    /// Receives the signals for good.
    ///
    /// On the program's first thread: one that exists, whatever the system's state, and that nothing else occupies.
    static func receive() -> Never {
        mask(SIG_UNBLOCK, [SIGALRM])
        var all = set([SIGTERM, SIGINT, SIGHUP])
        var lastToEnd: ContinuousClock.Instant?
        while true {
            var number: Int32 = 0
            guard unsafe sigwait(&all, &number) == 0 else { continue }
            if let queue = queue.withLock({ $0 }) {
                if number != SIGHUP {
                    // While the system has no more threads, the runtime can't obey the one before.
                    let isLate = lastToEnd.map { .now - $0 > .seconds(1) } ?? false
                    if isLate, unobeyed.load(ordering: .acquiring) > 0 { _exit(128 + number) }
                    unobeyed.wrappingAdd(1, ordering: .relaxed)
                    lastToEnd = .now
                }
                // Nor does it return from this.
                vainAlarms.store(0, ordering: .relaxed)
                isQueueing.store(true, ordering: .relaxed)
                alarm(1)
                queue.yield(number)
                alarm(0)
                isQueueing.store(false, ordering: .relaxed)
            } else {
                mask(SIG_UNBLOCK, [number])
                raise(number)
                mask(SIG_BLOCK, [number])
            }
        }
    }

    /// What the alarm does: a signal to end that has waited for a second ends the process at once.
    ///
    /// It must not wait for one, since what was only slow goes on when this returns: the machine was busy, or the
    /// process was stopped for a while.
    private static func endIfWaitedFor() {
        guard isQueueing.load(ordering: .relaxed) else { return }
        var pending = sigset_t()
        unsafe sigpending(&pending)
        let number = unsafe sigismember(&pending, SIGTERM) == 1 ? SIGTERM : SIGINT
        let isPending = unsafe sigismember(&pending, number) == 1
        if isPending, vainAlarms.wrappingAdd(1, ordering: .relaxed).newValue > 1 { _exit(128 + number) }
        alarm(1)
    }

    /// Turns off the default action of signals, which would end the process; they are queued here until they are
    /// obeyed.
    ///
    /// To be called before the server's address is announced: a signal may be sent as soon as it is.
    static func trap() -> AsyncStream<Int32> {
        _ = terminal
        signal(SIGALRM) { _ in Signals.endIfWaitedFor() }
        let (arriving, queue) = AsyncStream.makeStream(of: Int32.self)
        Self.queue.withLock { $0 = queue }
        // Not ignored, as nohup(1) has it: on some systems, an ignored signal does not wait either.
        signal(SIGHUP) { _ in }
        return arriving
    }

    private static func set(_ numbers: [Int32]) -> sigset_t {
        var set = sigset_t()
        unsafe sigemptyset(&set)
        for number in numbers { unsafe sigaddset(&set, number) }
        return set
    }

    private static func mask(_ how: Int32, _ numbers: [Int32]) {
        var set = set(numbers)
        unsafe pthread_sigmask(how, &set, nil)
    }

    /// A standard stream that was a terminal at the start; nil also if the process was started to survive its terminal,
    /// as by nohup(1).
    ///
    /// Determined by ``trap()``, which changes the signal's action.
    private static let terminal: Int32? = sys_ignores_hangup() ? nil : (0...2).first { isatty($0) == 1 }

    /// Obeys signals until the task is cancelled: the first SIGTERM or SIGINT ends gracefully, the second at once.
    ///
    /// SIGHUP reloads, but ends the process if the terminal that it was started in has been closed.
    func obey() async {
        var first: Int32?
        for await signal in arriving {
            switch signal {
            case SIGHUP where Self.terminal.map({ isatty($0) == 1 }) ?? true: reload()
            // The end of a terminal may send it more than once.
            case SIGHUP where first == SIGHUP: break
            case _ where first != nil:
                accessLog?.flush(within: .seconds(1))
                finish()
                // The status of a process that a signal ended, as shells report it.
                exit(128 + (signal == SIGINT ? SIGINT : SIGTERM))
            default:
                first = signal
                let server = server
                let grace = grace
                Task { await server.shutDown(grace: grace) }
                log(.info, "shutting down; send the signal again to stop at once")
                endWhateverIsWritten()
            }
            if signal != SIGHUP { Self.unobeyed.wrappingSubtract(1, ordering: .releasing) }
        }
    }

    /// Waits up to a second until the remaining messages are logged.
    func finish() { speaking.run(within: .seconds(1)) {} }

    /// Reads the files again, one reload after the other; a signal that arrives before the next one has begun needs none
    /// of its own.
    ///
    /// On a thread for that: signals must be obeyed even if the files' disk hangs.
    private func reload() {
        guard !isReloadDue.exchange(true, ordering: .acquiringAndReleasing) else { return }
        let isStarted = OwnThread.start("reload") { [self] in
            readingLock.withLock { _ in
                isReloadDue.store(false, ordering: .sequentiallyConsistent)
                readAgain()
            }
        }
        guard !isStarted else { return }
        isReloadDue.store(false, ordering: .sequentiallyConsistent)
        log(.error, "could not reload: the system has no thread for it")
    }

    private func readAgain() {
        if readings.isEmpty { log(.info, "there is nothing to reload") }
        for reading in readings {
            do {
                try reading.read()
                log(.info, reading.done)
            } catch {
                let reason = (error as? StartError)?.message ?? "\(error)"
                log(.error, reading.failed, metadata: ["reason": "\(reason)"])
            }
        }
    }

    private func log(_ level: Logger.Level, _ message: Logger.Message, metadata: Logger.Metadata? = nil) {
        let logger = logger
        speaking.async { logger.log(level: level, message, metadata: metadata) }
    }

    /// Ends the process after the grace time if only a write to an output that nobody reads keeps it alive: a thread of
    /// the server may be blocked in one.
    ///
    /// A write that lasts: while others succeed, the server may still be waiting for its disk.
    private func endWhateverIsWritten() {
        let seconds = UInt32(clamping: Int64(grace / .seconds(1)) + 5)
        // Not by a timer of libdispatch: without a free descriptor it has none. Without a thread, the next signal to end
        // does it.
        _ = OwnThread.start("last resort") {
            sleep(seconds)
            while !StandardStreams.isStuck { sleep(1) }
            _exit(0)
        }
    }
}
