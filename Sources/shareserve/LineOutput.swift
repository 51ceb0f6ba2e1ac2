import Synchronization

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// A standard stream on which the lines of several threads, and of several programs, stand whole.
///
/// What cannot be written is dropped and counted: `# 12 lines lost` stands before what is written next.
final class LineOutput: Sendable {
    /// What a pipe keeps together when somebody else writes to it too (PIPE_BUF).
    private static let together = 4_096
    private static let end = UInt8(ascii: "\n")

    private enum Outcome {
        case written
        /// Somebody has to read first.
        case full
        /// Another thread is writing.
        case busy
        /// After so many bytes.
        case failed(Int)
    }

    private let descriptor: Int32
    /// Whether it takes any number of bytes together, and at once.
    private let takesAll: Bool
    /// Held while lines are written: whether the last byte that was written is not the end of a line.
    private let isWithinLine = Mutex(false)
    private let lost = Atomic<Int>(0)
    /// Somebody has waited in vain, and nothing has been written since.
    private let standsStill = Atomic<Bool>(false)
    private let writers = Atomic<Int>(0)

    init(_ descriptor: Int32) {
        self.descriptor = descriptor
        var status = stat()
        let kind = unsafe fstat(descriptor, &status) == 0 ? status.st_mode & S_IFMT : 0
        takesAll = kind == S_IFREG || kind == S_IFCHR && isatty(descriptor) == 0
    }

    /// Whether some thread is in a call that writes.
    var isWriting: Bool { writers.load(ordering: .relaxed) > 0 }

    /// Writes whole lines.
    ///
    /// - Parameters:
    ///   - lines: with their ends.
    ///   - patience: how long nobody may read before the rest is dropped; nil to wait for good. Where somebody has
    ///     waited in vain nobody else does until something could be written.
    func write(_ lines: [UInt8], patience: Duration? = nil) {
        let clock = ContinuousClock()
        let deadline = patience.map { clock.now + (standsStill.load(ordering: .relaxed) ? .zero : $0) }
        var rest = lines[...]
        while !rest.isEmpty {
            let piece = takesAll ? rest : Self.firstLines(of: rest)
            switch offer(piece, until: deadline) {
            case .written: rest = rest.dropFirst(piece.count)
            case .full:
                guard waitForRoom(until: deadline) else { return giveUp(rest) }
            case .busy:
                if let deadline, clock.now >= deadline { return giveUp(rest) }
                usleep(1_000)
            case .failed(let count): return drop(rest.dropFirst(count))
            }
        }
    }

    /// As many lines as are kept together; one that is longer by itself.
    private static func firstLines(of bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        guard bytes.count > together else { return bytes }
        if let last = bytes.prefix(together).lastIndex(of: end) { return bytes[...last] }
        return bytes.firstIndex(of: end).map { bytes[...$0] } ?? bytes
    }

    /// Writes a piece if there is room; one that was begun to its end, however long it takes.
    private func offer(_ piece: ArraySlice<UInt8>, until deadline: ContinuousClock.Instant?) -> Outcome {
        let write = { (isWithinLine: inout Bool) -> Outcome in
            // Who waits for room does not keep others from the lock.
            guard self.takesAll || self.hasRoom(within: 0) else { return .full }
            guard self.mend(&isWithinLine, until: deadline) else { return .failed(0) }
            let (count, error) = self.put(piece, until: deadline)
            guard count < piece.count else {
                self.standsStill.store(false, ordering: .relaxed)
                return .written
            }
            if count == 0, error == EAGAIN { return .busy }
            if count > 0 { isWithinLine = piece[piece.startIndex + count - 1] != Self.end }
            return .failed(count)
        }
        guard deadline != nil else { return isWithinLine.withLock { write(&$0) } }
        return isWithinLine.withLockIfAvailable { write(&$0) } ?? .busy
    }

    /// Begins a new line where the last one was broken off, and says how many are missing.
    private func mend(_ isWithinLine: inout Bool, until deadline: ContinuousClock.Instant?) -> Bool {
        let count = lost.exchange(0, ordering: .relaxed)
        guard isWithinLine || count > 0 else { return true }
        let note = Array(((isWithinLine ? "\n" : "") + (count > 0 ? "# \(count) lines lost\n" : "")).utf8)
        let (written, _) = put(note[...], until: deadline)
        if written > 0 { isWithinLine = note[written - 1] != Self.end }
        guard written < note.count else { return true }
        lost.wrappingAdd(count, ordering: .relaxed)
        return false
    }

    /// - Returns: how many bytes were written, and why not more.
    private func put(
        _ piece: ArraySlice<UInt8>, until deadline: ContinuousClock.Instant?
    ) -> (count: Int, error: Int32) {
        writers.wrappingAdd(1, ordering: .relaxed)
        defer { writers.wrappingSubtract(1, ordering: .relaxed) }
        var rest = piece
        while !rest.isEmpty {
            if !takesAll, rest.count < piece.count, !waitForRoom(until: deadline) { break }
            let part = takesAll ? rest : rest.prefix(Self.together)
            let written = unsafe part.withUnsafeBytes { unsafe Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if written > 0 {
                rest = rest.dropFirst(written)
                continue
            }
            let error = written < 0 ? errno : EIO
            if error == EINTR || error == EAGAIN && rest.count < piece.count { continue }
            // A closed or full terminal is no reason to stop serving.
            return (piece.count - rest.count, error)
        }
        return (piece.count - rest.count, rest.isEmpty ? 0 : ETIMEDOUT)
    }

    /// - Returns: false when there was none before the deadline.
    private func waitForRoom(until deadline: ContinuousClock.Instant?) -> Bool {
        guard let deadline else { return hasRoom(within: -1) }
        let left = max(.zero, deadline - ContinuousClock().now)
        return hasRoom(within: Int32(left / .milliseconds(1)))
    }

    /// Whether a write would not wait; of what is closed or broken too, so that the write tells.
    private func hasRoom(within milliseconds: Int32) -> Bool {
        var wanted = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        var ready: Int32
        repeat { ready = unsafe poll(&wanted, 1, milliseconds) } while ready < 0 && errno == EINTR
        return ready != 0
    }

    private func giveUp(_ rest: ArraySlice<UInt8>) {
        standsStill.store(true, ordering: .relaxed)
        drop(rest)
    }

    private func drop(_ rest: ArraySlice<UInt8>) {
        lost.wrappingAdd(rest.count { $0 == Self.end }, ordering: .relaxed)
    }
}
