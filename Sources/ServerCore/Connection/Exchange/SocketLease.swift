import CSyscalls
import NIOCore
import Synchronization

/// A plain connection's socket, lent to the task that reads a body: it receives directly from the socket into a buffer
/// of its own thread, without involving the loop.
///
/// The loop still reads in two cases: a small read that waits for more bytes when the socket is empty and, when the
/// peer ends its side, everything up to the end. So the two take turns: whoever is about to read announces that under
/// one lock, and bytes that the loop has read are handed over, in order, before the task receives again.
final class SocketLease: Sendable {
    /// The result of one attempt to receive.
    enum Look {
        /// This many bytes were received by the task.
        case bytes(Int)
        /// The loop had read these bytes.
        case mail([UInt8])
        case nothing
        case end
    }

    private struct State {
        var mail: [[UInt8]] = []
        /// What the loop has read since the task began to wait, and is not yet worth waking it.
        var held: [UInt8] = []
        /// The most bytes that the waiting task can use.
        var wanted: Int64 = 0
        /// The number of received bytes, whoever read them.
        var received: Int64 = 0
        /// Whether the loop is about to read, or waits for bytes.
        var loopReads: Bool
        var failure: HTTPError?
        var isAtEnd = false
        var waiter: CheckedContinuation<Void, any Error>?

        /// The number of bytes that the loop has read and nobody has taken.
        var read: Int64 { mail.reduce(Int64(held.count)) { $0 + Int64($1.count) } }
    }

    /// How many bytes of a body that arrives in small pieces are gathered before its task is woken: waking it for each
    /// piece would let many slow clients keep the pool's threads from others.
    static let page = 4_096

    /// A duplicate descriptor, so that the connection may close meanwhile.
    private let socket: Int32
    private let state: Mutex<State>

    /// Lends `socket`; `loopReads` means that a read by the loop is pending already.
    init?(socket: Int32, loopReads: Bool) {
        let copy = sys_may_keep_open() ? sys_dup(socket) : -1
        guard copy >= 0 else { return nil }
        self.socket = copy
        state = Mutex(State(loopReads: loopReads))
    }

    deinit { _ = sys_close(socket) }

    // MARK: The task's side

    /// Receives what is available, without waiting.
    /// - Parameter receive: receives from the given socket; returns how many bytes, 0 at the end, or `-errno`.
    /// - Returns: what was found; `bytes` is what `receive` has received.
    /// - Throws: why the body was given up.
    func look(_ receive: (Int32) -> Int) throws(HTTPError) -> Look {
        let found = state.withLock { state -> Result<Look, HTTPError> in
            if !state.mail.isEmpty { return .success(.mail(state.mail.removeFirst())) }
            if let failure = state.failure { return .failure(failure) }
            if state.isAtEnd { return .success(.end) }
            if state.loopReads { return .success(.nothing) }
            let count = receive(socket)
            if count > 0 {
                state.received &+= Int64(count)
                return .success(.bytes(count))
            }
            return .success(count == -Int(sys_again) ? .nothing : .end)
        }
        return try found.get()
    }

    /// Whether bytes arrive within a moment: a fast sender's next ones are on their way.
    func waitBriefly() -> Bool {
        let loopReads = state.withLock { $0.loopReads || !$0.mail.isEmpty }
        return !loopReads && sys_wait_readable(socket, 2) > 0
    }

    /// Returns when the loop has read a page, or `wanted` bytes, or the input has ended; `ask` makes the loop read.
    func wait(for wanted: Int64, _ ask: @Sendable () -> Void) async throws {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let outcome = state.withLock { state -> Result<Void, any Error>? in
                    // Checked under the lock: a later cancellation finds the waiter.
                    if Task.isCancelled { return .failure(CancellationError()) }
                    if !state.mail.isEmpty || state.failure != nil || state.isAtEnd { return .success(()) }
                    state.loopReads = true
                    state.wanted = wanted
                    state.waiter = continuation
                    return nil
                }
                if let outcome { continuation.resume(with: outcome) } else { ask() }
            }
        } onCancel: {
            let waiter = state.withLock { $0.waiter.take() }
            waiter?.resume(throwing: CancellationError())
        }
    }

    /// Whether the body was given up, for being too slow or with its connection.
    var hasFailed: Bool { state.withLock { $0.failure != nil } }

    /// Whether the input has ended before a counted body of which so many bytes are still to be taken.
    func isBrokenOff(wanting wanted: Int64) -> Bool {
        wanted < .max && state.withLock { $0.isAtEnd && $0.read < wanted }
    }

    /// Whether all of a counted body is here of which so many bytes are still to be taken.
    func isWhole(wanting wanted: Int64) -> Bool { state.withLock { $0.read >= wanted } }

    /// Whether the client has closed its side, or is gone, by one system call.
    var hasHungUp: Bool { state.withLock { $0.isAtEnd } || sys_has_hung_up(socket) == 1 }

    /// What the loop has read and nobody has taken.
    func takeMail() -> [UInt8] {
        state.withLock { state in
            let all = Array(state.mail.joined()) + state.held
            state.mail = []
            state.held = []
            return all
        }
    }

    // MARK: The loop's side

    /// The number of bytes of the body, with its framing, received since the socket was lent.
    var received: Int64 { state.withLock { $0.received } }

    /// The loop is about to read: from now on the task does not touch the socket until the bytes are delivered.
    func claim() {
        state.withLock { $0.loopReads = true }
    }

    /// Passes on what the loop has read.
    /// - Returns: whether the task continues to wait, so that the loop has to read more.
    func deliver(_ bytes: [UInt8]) -> Bool {
        let sleepsOn = state.withLock { state in
            state.held.append(contentsOf: bytes)
            state.received &+= Int64(bytes.count)
            guard state.waiter != nil, state.held.count < Self.page, state.held.count < state.wanted else {
                return false
            }
            // A chunked body may end here.
            return !state.held.suffix(4).elementsEqual("\r\n\r\n".utf8)
        }
        if !sleepsOn { wake { $0.loopReads = false } }
        return sleepsOn
    }

    /// Wakes the task for what was gathered of a chunked body: only the task can see that it is malformed or too large.
    func secondPassed() {
        let isDue = state.withLock { !$0.held.isEmpty && $0.wanted == .max }
        if isDue { wake { _ in } }
    }

    func deliverEnd() {
        wake { $0.isAtEnd = true }
    }

    func fail(_ error: HTTPError) {
        wake { if $0.failure == nil { $0.failure = error } }
    }

    private func wake(_ change: (inout State) -> Void) {
        let waiter = state.withLock { state in
            change(&state)
            if !state.held.isEmpty {
                state.mail.append(state.held)
                state.held = []
            }
            return state.waiter.take()
        }
        waiter?.resume()
    }
}

/// Notifies a lease before every read of the channel; no other callback comes in time.
struct LeasedReceiveAllocator: RecvByteBufferAllocator {
    static let size = 16 * 1_024
    let lease: SocketLease

    func buffer(allocator: ByteBufferAllocator) -> ByteBuffer {
        lease.claim()
        return allocator.buffer(capacity: Self.size)
    }

    func nextBufferSize() -> Int? {
        lease.claim()
        return Self.size
    }

    mutating func record(actualReadBytes: Int) -> Bool { false }
}
