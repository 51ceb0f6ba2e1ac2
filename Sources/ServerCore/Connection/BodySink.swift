import DirectoryRoot
import Synchronization

/// A response body on its way from the task that writes it to the connection that sends it.
///
/// Bounded: the writer waits while ``limit`` bytes are under way.
final class BodySink: Sendable {
    enum Piece: Sendable {
        case bytes([UInt8])
        case file(Entry, Range<Int64>)
    }

    /// What the connection finds.
    enum Found {
        case piece(Piece)
        case nothing
        case end
        case broken
    }

    /// Bytes that may wait here before the writer does: a slow client holds as much.
    ///
    /// A larger piece waits alone, made while the one before it is sent.
    static let limit = 64 * 1_024

    private struct State {
        var pieces: [Piece] = []
        var taken = 0
        var queued = 0
        var isFinished = false
        var isBroken = false
        /// Nobody sends any more.
        var isClosed = false
        var waiter: CheckedContinuation<Void, any Error>?
        /// The connection is idle and wants to be told of more.
        var wantsNotice = false
        var notify: (@Sendable () -> Void)?
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
        let (notify, isFull) = try state.withLock { state -> ((@Sendable () -> Void)?, Bool) in
            guard !state.isClosed else { throw CancellationError() }
            state.pieces.append(piece)
            state.queued += Self.size(piece)
            let notify = state.wantsNotice ? state.notify : nil
            state.wantsNotice = false
            return (notify, state.queued >= Self.limit)
        }
        notify?()
        guard isFull else { return }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let isCancelled = Task.isCancelled
                let outcome = state.withLock { state -> Result<Void, any Error>? in
                    if state.isClosed || isCancelled { return .failure(CancellationError()) }
                    if state.queued < Self.limit { return .success(()) }
                    state.waiter = continuation
                    return nil
                }
                if let outcome { continuation.resume(with: outcome) }
            }
        } onCancel: {
            let waiter = state.withLock { state in
                let waiter = state.waiter
                state.waiter = nil
                return waiter
            }
            waiter?.resume(throwing: CancellationError())
        }
    }

    /// All is written, or (`isWhole` false) the rest will never come.
    func finish(isWhole: Bool) {
        let notify = state.withLock { state -> (@Sendable () -> Void)? in
            state.isFinished = true
            if !isWhole { state.isBroken = true }
            let notify = state.wantsNotice ? state.notify : nil
            state.wantsNotice = false
            return notify
        }
        notify?()
    }

    // MARK: The connection's side

    /// Sets what is called, once, when there is more after ``next()`` found nothing.
    func onMore(_ notify: @escaping @Sendable () -> Void) {
        state.withLock { $0.notify = notify }
    }

    /// Small pieces that wait are joined into one.
    func next() -> Found {
        let (found, waiter) = state.withLock { state -> (Found, CheckedContinuation<Void, any Error>?) in
            if state.isBroken { return (.broken, nil) }
            guard state.taken < state.pieces.count else {
                if state.isFinished { return (.end, nil) }
                state.wantsNotice = true
                return (.nothing, nil)
            }
            var piece = state.pieces[state.taken]
            state.taken += 1
            state.queued -= Self.size(piece)
            if case .bytes(var bytes) = piece {
                while state.taken < state.pieces.count, case .bytes(let more) = state.pieces[state.taken],
                    bytes.count + more.count <= 64 * 1_024
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
            guard state.queued < Self.limit else { return (.piece(piece), nil) }
            let waiter = state.waiter
            state.waiter = nil
            return (.piece(piece), waiter)
        }
        waiter?.resume()
        return found
    }

    /// Nobody sends any more: the writer fails.
    func close() {
        let waiter = state.withLock { state -> CheckedContinuation<Void, any Error>? in
            state.isClosed = true
            state.pieces = []
            state.taken = 0
            state.queued = 0
            state.notify = nil
            let waiter = state.waiter
            state.waiter = nil
            return waiter
        }
        waiter?.resume(throwing: CancellationError())
    }
}
