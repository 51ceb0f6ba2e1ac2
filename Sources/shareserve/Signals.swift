import CSyscalls
import Dispatch
import Logging
import ServerCore
import UnixSignals

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// What the process does when it is told something from outside.
struct Signals {
    /// Something that is read again while the server runs.
    struct Reading: Sendable {
        /// What the log says after it.
        let done: Logger.Message
        /// What it says when that went wrong; what was good before then stays in force.
        let failed: Logger.Message
        let read: @Sendable () throws -> Void
    }

    /// What ``trap()`` gave.
    let arriving: UnixSignalsSequence
    let server: Server
    /// How long running transfers may go on after the first signal to end.
    let grace: Duration
    let logger: Logger
    let accessLog: AccessLog?
    let readings: [Reading]
    /// A thread for what is logged here: signals must be obeyed though nobody reads the log.
    private let speaking = DispatchQueue(label: "signals")

    init(
        arriving: UnixSignalsSequence, server: Server, grace: Duration, logger: Logger, accessLog: AccessLog?,
        readings: [Reading]
    ) {
        self.arriving = arriving
        self.server = server
        self.grace = grace
        self.logger = logger
        self.accessLog = accessLog
        self.readings = readings
    }

    /// Signals that must not end a daemon: a peer that has gone, and a file over the process's size limit.
    static func ignoreFatalOnes() {
        signal(SIGPIPE, SIG_IGN)
        signal(SIGXFSZ, SIG_IGN)
    }

    /// Keeps signals from their usual effect, which is to end the process; they wait here until they are obeyed.
    ///
    /// To be called before anybody is told that the server listens: whoever is may send one at once.
    static func trap() async -> UnixSignalsSequence {
        _ = terminal
        return await UnixSignalsSequence(trapping: .sigterm, .sigint, .sighup)
    }

    /// A standard stream that was a terminal at the start; nil, too, where that was told not to mind when it goes, as
    /// by nohup(1).
    ///
    /// Found out by ``trap()``, whose library ignores the signal from then on.
    private static let terminal: Int32? = sys_ignores_hangup() ? nil : (0...2).first { isatty($0) == 1 }

    /// Obeys signals until the task is cancelled: the first SIGTERM or SIGINT ends gracefully, the second at once; and
    /// SIGHUP, which otherwise reloads, when the window that the program was started in was closed.
    func obey() async {
        var isEnding = false
        for await signal in arriving {
            switch signal {
            case .sighup where Self.terminal.map({ isatty($0) == 1 }) ?? true: reload()
            case _ where isEnding:
                accessLog?.flush(within: .seconds(1))
                finish()
                // The status of a process that a signal ended, as shells show it.
                exit(128 + (signal == .sigint ? SIGINT : SIGTERM))
            default:
                isEnding = true
                let server = server
                let grace = grace
                Task { await server.shutDown(grace: grace) }
                log(.info, "shutting down; send the signal again to stop at once")
                endWhateverIsWritten()
            }
        }
    }

    /// Waits a moment for what is still to be logged.
    func finish() { speaking.run(within: .seconds(1)) {} }

    private func reload() {
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

    /// Ends the process after the grace time if what keeps it is a line that nobody reads: some thread of the server
    /// may be writing one.
    private func endWhateverIsWritten() {
        let seconds = Int(grace / .seconds(1)) + 5
        DispatchQueue(label: "end").asyncAfter(deadline: .now() + .seconds(seconds)) {
            while !StandardStreams.isWriting { sleep(1) }
            _exit(0)
        }
    }
}
