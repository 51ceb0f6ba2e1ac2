import CSyscalls
import DirectoryRoot
import Synchronization

/// A response body on its way from the task that writes it to the connection that sends it.
///
/// Bounded: the writer waits while ``limit`` bytes are under way.
final class BodySink: Sendable {
    enum Piece: Sendable {
        case bytes([UInt8])
        case file(Entry, Range<Int64>)

        /// Bytes of the body.
        var count: Int64 {
            switch self {
            case .bytes(let bytes): Int64(bytes.count)
            case .file(_, let range): Int64(range.count)
            }
        }
    }

    /// What the connection finds.
    enum Found {
        case piece(Piece)
        /// What is left of a chunk that the writer began to send itself.
        case leftover([UInt8])
        case nothing
        /// Nothing more comes, and so many bytes of the body did not come through here.
        case end(sentAround: Int64)
        case broken
    }

    /// Bytes that may wait here before the writer does: a slow client holds as much.
    ///
    /// A larger piece waits alone, made while the one before it is sent.
    static let limit = 64 * 1_024
    /// A body with a piece this large is worth an outlet, and not one of small pieces that are far apart.
    private static let large = 16 * 1_024

    private struct State {
        var pieces: [Piece] = []
        var taken = 0
        var queued = 0
        var isFinished = false
        var isBroken = false
        /// Nobody sends any more.
        var isClosed = false
        var waiter: CheckedContinuation<Void, any Error>?
        /// When the client last took something, or had nothing to take, by the clock of `sys_coarse_milliseconds`.
        var tookAt: Int64 = 0
        /// The rest is not worth what is kept for it.
        var isGivenUp = false
        /// The connection is idle and wants to be told of more.
        var wantsNotice = false
        var notify: (@Sendable () -> Void)?
        /// Where the writer may send past the connection, which has nothing to send meanwhile.
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
        // A file's span costs no memory while it waits, but only one may wait.
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
        // Others wait for a thread, and this could go on for long.
        await pool?.giveWay()
        notify?()
        guard isFull else { return }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let outcome = state.withLock { state -> Result<Void, any Error>? in
                    // Asked under the lock: a cancellation after this finds the waiter.
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

    /// All is written, or (`isWhole` false) the rest will never come.
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

    /// For how many milliseconds the writer has waited while the client took nothing; nil while it does not wait.
    var stall: Int64? {
        state.withLock { $0.waiter == nil ? nil : sys_coarse_milliseconds() - $0.tookAt }
    }

    /// The writer fails, at once or with its next piece, and the body breaks off.
    func giveUp() {
        let waiter = state.withLock { state -> CheckedContinuation<Void, any Error>? in
            state.isGivenUp = true
            return state.waiter.take()
        }
        waiter?.resume(throwing: CancellationError())
    }

    // MARK: The connection's side

    /// Sets what is called, once, when there is more after ``next()`` found nothing.
    func onMore(_ notify: @escaping @Sendable () -> Void) {
        state.withLock { $0.notify = notify }
    }

    /// Lets the writer send by itself what it writes next, where that is worth it; the connection has sent all, and
    /// sends nothing until it is told that there is something.
    func lend(_ outlet: () -> Outlet?) {
        state.withLock { state in
            // Nothing has come since the connection found nothing.
            guard state.wantsNotice, state.isLarge, state.outlet == nil, !state.isFinished, !state.isClosed else {
                return
            }
            state.outlet = outlet()
        }
    }

    /// The client has taken some of the piece that ``next()`` gave out last.
    func noteTaken() { state.withLock { $0.tookAt = sys_coarse_milliseconds() } }

    /// Small pieces that wait are joined into one.
    func next() -> Found {
        let (found, waiter) = state.withLock { state -> (Found, CheckedContinuation<Void, any Error>?) in
            if state.isBroken { return (.broken, nil) }
            // Whatever was given out before is on its way.
            if state.waiter != nil { state.tookAt = sys_coarse_milliseconds() }
            if !state.leftover.isEmpty {
                let leftover = state.leftover
                state.leftover = []
                state.queued -= leftover.count
                return (.leftover(leftover), Self.waiter(&state))
            }
            guard state.taken < state.pieces.count else {
                if state.isFinished { return (.end(sentAround: state.sentAround), nil) }
                state.wantsNotice = true
                return (.nothing, nil)
            }
            var piece = state.pieces[state.taken]
            state.taken += 1
            state.queued -= Self.size(piece)
            if case .bytes(var bytes) = piece {
                while state.taken < state.pieces.count, case .bytes(let more) = state.pieces[state.taken],
                    bytes.count + more.count <= Self.limit
                {
                    bytes.append(contentsOf: more)
                    state.queued -= more.count
                    state.taken += 1
                }
                piece = .bytes(bytes)
            }
            if state.taken == state.pieces.count {
                state.pieces.removeAll(keepingCapacity: true)
                state.taken = 0
            }
            return (.piece(piece), Self.waiter(&state))
        }
        waiter?.resume()
        return found
    }

    /// The writer, where it waits and need not any more.
    private static func waiter(_ state: inout State) -> CheckedContinuation<Void, any Error>? {
        guard state.queued < limit else { return nil }
        return state.waiter.take()
    }

    /// Bytes of the body, with the frames of a chunk that was cut, that the writer has sent by itself so far.
    var sentAround: Int64 { state.withLock { $0.sentAround - Int64($0.leftover.count) } }

    /// Nobody sends any more: the writer fails.
    func close() {
        let waiter = state.withLock { state -> CheckedContinuation<Void, any Error>? in
            state.isClosed = true
            state.outlet = nil
            state.leftover = []
            state.pieces = []
            state.taken = 0
            state.queued = 0
            state.notify = nil
            return state.waiter.take()
        }
        waiter?.resume(throwing: CancellationError())
    }
}
