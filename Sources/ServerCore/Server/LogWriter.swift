import Synchronization

/// Lines on their way to where they are kept; never waited for by who logs.
final class LogWriter: Sendable {
    /// More than this waits only when the disk stands still; further lines are dropped, and counted.
    private static let limit = 4 * 1_024 * 1_024
    /// Between two writes.
    private static let pause = Duration.milliseconds(5)

    private struct State {
        var lines: [UInt8] = []
        var clock = LogClock()
        var isWriting = false
        var dropped = 0
    }

    private let state = Mutex(State())
    /// Held while lines are taken and written, so that they keep their order.
    private let output = Mutex(())
    private let write: @Sendable ([UInt8]) -> Void

    init(write: @escaping @Sendable ([UInt8]) -> Void) {
        self.write = write
    }

    /// Adds a line, and has `pool` write it soon.
    func add(_ record: AccessRecord, _ format: AccessLog.Format, _ pool: PoolThreads) {
        let begins = state.withLock { state -> Bool in
            guard state.lines.count < Self.limit else {
                state.dropped += 1
                return false
            }
            record.write(format, at: &state.clock, to: &state.lines)
            defer { state.isWriting = true }
            return !state.isWriting
        }
        if begins { Task(executorPreference: pool) { await self.drain() } }
    }

    /// Writes what is there still, at the end.
    func flush() { _ = writeAll() }

    private func drain() async {
        while writeAll() {
            // To wake a thread for each line would cost as much as a small answer: those of the next moments go
            // together.
            try? await Task.sleep(for: Self.pause)
        }
    }

    /// - Returns: false when there was nothing, and the next line needs somebody to write it.
    private func writeAll() -> Bool {
        output.withLock { _ in
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
