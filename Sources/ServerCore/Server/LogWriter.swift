import DirectoryRoot
import Dispatch
import Synchronization

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// Writes log lines asynchronously: whoever logs never waits.
final class LogWriter: Sendable {
    /// The most bytes that may wait, reached only when the disk stands still; further lines are dropped, and counted.
    private static let limit = 4 * 1_024 * 1_024
    /// The pause between two writes, in microseconds.
    private static let pause: useconds_t = 5_000

    private struct State {
        var lines: [UInt8] = []
        var clock = LogClock()
        var isWriting = false
        var hasThread = false
        var dropped = 0
    }

    private let state = Mutex(State())
    /// The write function; locked while lines are taken and written, so that they keep their order.
    private let output: Mutex<@Sendable ([UInt8]) -> Void>
    /// Wakes the thread that writes.
    ///
    /// One of its own: whoever reads the lines may stop, and nothing else must wait for that. It stays when it has
    /// nothing to do: a moment may come when the system has no other to give.
    private let wake = DispatchSemaphore(value: 0)

    init(write: @escaping @Sendable ([UInt8]) -> Void) {
        output = Mutex(write)
        let hasThread = startThread()
        state.withLock { $0.hasThread = hasThread }
    }

    deinit { wake.signal() }

    /// Adds a line, to be written soon.
    func add(_ record: AccessRecord, _ format: AccessLog.Format) {
        let begins = state.withLock { state -> Bool in
            guard state.lines.count < Self.limit else {
                state.dropped += 1
                return false
            }
            record.write(format, at: &state.clock, to: &state.lines)
            // If no thread can be started now, the next line has another try.
            if !state.hasThread { state.hasThread = startThread() }
            defer { state.isWriting = true }
            return !state.isWriting
        }
        if begins { wake.signal() }
    }

    private func startThread() -> Bool {
        OwnThread.start("access log") { [weak self, wake] in
            while true {
                wake.wait()
                guard let self else { return }
                drain()
            }
        }
    }

    /// Writes what is still waiting, at the end, unless that takes longer than `limit`.
    func flush(within limit: Duration) {
        guard state.withLock(\.hasThread) else {
            while writeAll() {}
            return
        }
        // The thread may be blocked for good.
        let end = ContinuousClock.now + limit
        while state.withLock({ $0.isWriting }), ContinuousClock.now < end { usleep(1_000) }
    }

    private func drain() {
        while writeAll() {
            // Waking a thread for each line would cost as much as a small response: the lines of the next moments are
            // written together.
            usleep(Self.pause)
        }
    }

    /// - Returns: false when there was nothing; then the next line has to start a writer.
    private func writeAll() -> Bool {
        output.withLock { write in
            let lines = state.withLock { state -> [UInt8] in
                var lines = state.lines
                state.lines = []
                if state.dropped > 0 {
                    lines += "# \(state.dropped) lines lost\n".utf8
                    state.dropped = 0
                }
                if lines.isEmpty { state.isWriting = false }
                return lines
            }
            if lines.isEmpty { return false }
            write(lines)
            return true
        }
    }
}
