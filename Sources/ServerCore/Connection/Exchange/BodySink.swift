import CSyscalls
import DirectoryRoot
import NIOCore
import Synchronization

/// Passes a response body from the task that writes it to the connection that sends it.
///
/// Bounded: the writer waits while ``limit`` bytes are in it.
final class BodySink: Sendable {
    enum Piece: Sendable {
        case bytes([UInt8])
        case file(Entry, Range<Int64>)

        /// The number of bytes of the body.
        var count: Int64 {
            switch self {
            case .bytes(let bytes): Int64(bytes.count)
            case .file(_, let range): Int64(range.count)
            }
        }
    }

    /// The result of ``next()`` for the connection.
    enum Found {
        case piece(Piece)
        /// The rest of a chunk that the writer began to send itself.
        case leftover([UInt8])
        case nothing
        /// Nothing more comes; `sentAround` bytes of the body did not pass through this sink.
        case end(sentAround: Int64)
        case broken
    }

    /// How many bytes may wait here before the writer has to wait: a slow client holds as much.
    ///
    /// A larger piece waits alone: it is made while the previous one is being sent.
    static let limit = 64 * 1_024
    /// A piece at least this large makes an outlet worthwhile; small pieces that are far apart do not.
    private static let large = 16 * 1_024

    private struct State {
        var pieces = CircularBuffer<Piece>()
        var queued = 0
        var isFinished = false
        var isBroken = false
        /// Nobody sends any more.
        var isClosed = false
        var waiter: CheckedContinuation<Void, any Error>?
        /// When the client last took something, or had nothing to take, by `sys_coarse_milliseconds`.
        var tookAt: Int64 = 0
        /// The writer must stop: the rest of the body is not worth the memory kept for it.
        var isGivenUp = false
        /// The connection is idle and wants a notification when there is more.
        var wantsNotice = false
        var notify: (@Sendable () -> Void)?
        /// Lets the writer send directly on the socket, while the connection has nothing to send.
        var outlet: Outlet?
        var isLarge = false
        var leftover: [UInt8] = []
        var sentAround: Int64 = 0
    }

    private let state = Mutex(State())

    init() {}

    private static func size(_ piece: Piece) -> Int {
        switch piece {
        case .bytes(let bytes): bytes.count
        // A span of a file takes no memory while it waits, but only one may wait.
        case .file: limit
        }
    }

    // MARK: The writer's side

    func write(_ piece: Piece) async throws {
        let (notify, isFull, pool) = try state.withLock { state -> ((@Sendable () -> Void)?, Bool, PoolThreads?) in
            guard !state.isClosed, !state.isGivenUp else { throw CancellationError() }
            if let outlet = state.outlet, case .bytes(let bytes) = piece {
                state.sentAround += Int64(bytes.count)
                guard let rest = outlet.send(bytes) else { return (nil, false, outlet.pool) }
                state.leftover = rest
                state.queued += rest.count
            } else {
                if case .bytes(let bytes) = piece, bytes.count >= Self.large { state.isLarge = true }
                state.pieces.append(piece)
                state.queued += Self.size(piece)
            }
            state.outlet = nil
            let notify = state.wantsNotice ? state.notify : nil
            state.wantsNotice = false
            return (notify, state.queued >= Self.limit, nil)
        }
        // Others wait for a thread, and this could continue for long.
        await pool?.giveWay()
        notify?()
        guard isFull else { return }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let outcome = state.withLock { state -> Result<Void, any Error>? in
                    // Checked under the lock: a later cancellation finds the waiter.
                    if state.isClosed || state.isGivenUp || Task.isCancelled { return .failure(CancellationError()) }
                    if state.queued < Self.limit { return .success(()) }
                    state.tookAt = sys_coarse_milliseconds()
                    state.waiter = continuation
                    return nil
                }
                if let outcome { continuation.resume(with: outcome) }
            }
        } onCancel: {
            let waiter = state.withLock { $0.waiter.take() }
            waiter?.resume(throwing: CancellationError())
        }
    }

    /// The body is complete or, if not `isWhole`, the rest will never come.
    func finish(isWhole: Bool) {
        let notify = state.withLock { state -> (@Sendable () -> Void)? in
            state.isFinished = true
            state.outlet = nil
            if !isWhole { state.isBroken = true }
            let notify = state.wantsNotice ? state.notify : nil
            state.wantsNotice = false
            return notify
        }
        notify?()
    }

    /// How long, in milliseconds, the writer has waited while the client took nothing; nil while it does not wait.
    var stall: Int64? {
        state.withLock { $0.waiter == nil ? nil : sys_coarse_milliseconds() - $0.tookAt }
    }

    /// Makes the writer fail, now or with its next piece; the body is cut off.
    func giveUp() {
        let waiter = state.withLock { state -> CheckedContinuation<Void, any Error>? in
            state.isGivenUp = true
            return state.waiter.take()
        }
        waiter?.resume(throwing: CancellationError())
    }

    // MARK: The connection's side

    /// Sets what is called once there is more, after ``next()`` found nothing.
    func onMore(_ notify: @escaping @Sendable () -> Void) {
        state.withLock { $0.notify = notify }
    }

    /// Lets the writer send what comes next directly, if that is worthwhile; the connection has sent everything, and
    /// must not send until it is notified.
    func lend(_ outlet: () -> Outlet?) {
        state.withLock { state in
            // Nothing has come since the connection found nothing.
            guard state.wantsNotice, state.isLarge, state.outlet == nil, !state.isFinished, !state.isClosed else {
                return
            }
            state.outlet = outlet()
        }
    }

    /// The client has taken some of the piece that ``next()`` returned last.
    func noteTaken() { state.withLock { $0.tookAt = sys_coarse_milliseconds() } }

    /// The next piece; small pieces that wait are joined into one.
    /// - Parameter limit: the most bytes of it, if it is in memory.
    /// - Returns: it, or what is instead of one.
    func next(upTo limit: Int = .max) -> Found {
        let (found, waiter) = state.withLock { state -> (Found, CheckedContinuation<Void, any Error>?) in
            if state.isBroken { return (.broken, nil) }
            // Whatever was returned before is on its way.
            if state.waiter != nil { state.tookAt = sys_coarse_milliseconds() }
            if !state.leftover.isEmpty {
                let leftover = state.leftover
                state.leftover = []
                state.queued -= leftover.count
                return (.leftover(leftover), Self.waiter(&state))
            }
            guard var piece = state.pieces.popFirst() else {
                if state.isFinished { return (.end(sentAround: state.sentAround), nil) }
                state.wantsNotice = true
                return (.nothing, nil)
            }
            state.queued -= Self.size(piece)
            if case .bytes(var bytes) = piece {
                while bytes.count < limit, case .bytes(let more)? = state.pieces.first,
                    bytes.count + more.count <= Self.limit
                {
                    bytes.append(contentsOf: more)
                    state.queued -= more.count
                    state.pieces.removeFirst()
                }
                if bytes.count > limit {
                    let rest = Array(bytes[limit...])
                    bytes.removeLast(rest.count)
                    state.pieces.prepend(.bytes(rest))
                    state.queued += rest.count
                }
                piece = .bytes(bytes)
            }
            return (.piece(piece), Self.waiter(&state))
        }
        waiter?.resume()
        return found
    }

    /// The writer's continuation, if it waits and need not any more.
    private static func waiter(_ state: inout State) -> CheckedContinuation<Void, any Error>? {
        guard state.queued < limit else { return nil }
        return state.waiter.take()
    }

    /// How many bytes of the body, including the framing of a chunk that was cut, the writer has sent directly so far.
    var sentAround: Int64 { state.withLock { $0.sentAround - Int64($0.leftover.count) } }

    /// Nobody sends any more: makes the writer fail.
    func close() {
        let waiter = state.withLock { state -> CheckedContinuation<Void, any Error>? in
            state.isClosed = true
            state.outlet = nil
            state.leftover = []
            state.pieces.removeAll()
            state.queued = 0
            state.notify = nil
            return state.waiter.take()
        }
        waiter?.resume(throwing: CancellationError())
    }
}
