import Glibc
import Logging
import ServerCore
import UnixSignals

/// What the process does when it is told something from outside.
struct Signals {
    /// What ``trap()`` gave.
    let arriving: UnixSignalsSequence
    let server: Server
    /// How long running transfers may go on after the first signal to end.
    let grace: Duration
    let logger: Logger
    /// Reads anew what may change while the server runs.
    let reload: @Sendable () throws -> Void

    /// Signals that must not end a daemon: a peer that has gone, and a file over the process's size limit.
    static func ignoreFatalOnes() {
        signal(SIGPIPE, SIG_IGN)
        signal(SIGXFSZ, SIG_IGN)
    }

    /// Keeps signals from their usual effect, which is to end the process; they wait here until they are obeyed.
    ///
    /// To be called before anybody is told that the server listens: whoever is may send one at once.
    static func trap() async -> UnixSignalsSequence {
        await UnixSignalsSequence(trapping: .sigterm, .sigint, .sighup)
    }

    /// Obeys signals until the task is cancelled: the first SIGTERM or SIGINT ends gracefully, the second at once.
    func obey() async {
        var isEnding = false
        for await signal in arriving {
            switch signal {
            case .sighup:
                do {
                    try reload()
                    logger.info("reloaded")
                } catch {
                    // What was good before stays in force.
                    let reason = (error as? StartError)?.message ?? "\(error)"
                    logger.error("not reloaded", metadata: ["reason": "\(reason)"])
                }
            case _ where isEnding:
                // The status of a process that a signal ended, as shells show it.
                exit(128 + (signal == .sigint ? SIGINT : SIGTERM))
            default:
                isEnding = true
                logger.info("ending; once more to end at once")
                let server = server
                let grace = grace
                Task { await server.shutDown(grace: grace) }
            }
        }
    }
}
