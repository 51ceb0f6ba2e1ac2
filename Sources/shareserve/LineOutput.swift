import Synchronization

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// A standard stream that keeps each line whole, though several threads and several programs write to it.
///
/// Lines that cannot be written are dropped and counted: `# 12 lines lost` precedes the next line that is written.
final class LineOutput: Sendable {
    /// The most bytes that a pipe writes atomically when others write to it too: 4,096, on macOS 512.
    private static let together = Int(PIPE_BUF)
    private static let end = UInt8(ascii: "\n")

    private enum Outcome {
        case written
        /// The stream takes no more until its reader has read.
        case full
        /// Another thread is writing.
        case busy
        /// An error, after so many bytes.
        case failed(Int)
    }

    private let descriptor: Int32
    /// Whether it takes any number of bytes atomically and without waiting.
    private let takesAll: Bool
    /// Held while lines are written: whether the last byte written was not the end of a line.
    private let isWithinLine = Mutex(false)
    private let lost = Atomic<Int>(0)
    /// Whether a writer has waited in vain, and nothing has been written since.
    private let standsStill = Atomic<Bool>(false)
    /// When the thread that holds the lock began to write; nil while none does.
    private let beganWriting = Mutex<ContinuousClock.Instant?>(nil)

    init(_ descriptor: Int32) {
        self.descriptor = descriptor
        var status = stat()
        let kind = unsafe fstat(descriptor, &status) == 0 ? status.st_mode & S_IFMT : 0
        takesAll = kind == S_IFREG || kind == S_IFCHR && isatty(descriptor) == 0
    }

    /// Whether a thread has been writing one piece for some seconds.
    var isStuck: Bool {
        beganWriting.withLock { $0 }.map { .now - $0 > .seconds(2) } ?? false
    }

    /// Writes whole lines.
    ///
    /// - Parameters:
    ///   - lines: with their line ends.
    ///   - patience: how long to wait for the reader before the rest is dropped; nil to wait without limit. After one
    ///     writer has waited in vain, no other waits until something could be written.
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

    /// As many lines as are written atomically; a longer line alone.
    private static func firstLines(of bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        guard bytes.count > together else { return bytes }
        if let last = bytes.prefix(together).lastIndex(of: end) { return bytes[...last] }
        return bytes.firstIndex(of: end).map { bytes[...$0] } ?? bytes
    }

    /// Writes a piece if the stream can take it; a piece that was begun is completed if the deadline allows.
    private func offer(_ piece: ArraySlice<UInt8>, until deadline: ContinuousClock.Instant?) -> Outcome {
        let write = { (isWithinLine: inout Bool) -> Outcome in
            // A writer that waits for the reader does not hold the lock meanwhile.
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

    /// Ends a line that was broken off, and reports how many lines were lost.
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

    /// - Returns: the number of bytes written, and the error that prevented more.
    private func put(
        _ piece: ArraySlice<UInt8>, until deadline: ContinuousClock.Instant?
    ) -> (count: Int, error: Int32) {
        beganWriting.withLock { $0 = .now }
        defer { beganWriting.withLock { $0 = nil } }
        var rest = piece
        while !rest.isEmpty {
            if !takesAll, rest.count < piece.count, !waitForRoom(until: deadline) { break }
            let part = takesAll ? rest : rest.prefix(Self.together)
            let written = writeSome(part, to: descriptor)
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

    /// - Returns: false when the stream could take nothing before the deadline.
    private func waitForRoom(until deadline: ContinuousClock.Instant?) -> Bool {
        guard let deadline else { return hasRoom(within: -1) }
        let left = max(.zero, deadline - ContinuousClock().now)
        return hasRoom(within: Int32(left / .milliseconds(1)))
    }

    /// Whether a write would not block; also true of a closed or broken stream, so that the write reports the error.
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

/// `write(2)`, here since methods of that name hide it, and the module that it belongs to has another name on every
/// system.
/// - Parameters:
///   - bytes: what to write.
///   - descriptor: where to.
/// - Returns: how many bytes were written; -1 with `errno` set where none could be.
func writeSome(_ bytes: ArraySlice<UInt8>, to descriptor: Int32) -> Int {
    unsafe bytes.withUnsafeBytes { unsafe write(descriptor, $0.baseAddress, $0.count) }
}
