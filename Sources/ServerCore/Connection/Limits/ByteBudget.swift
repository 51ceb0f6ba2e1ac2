import Synchronization

/// Bytes of memory that many requests share: for what has come of heads, XML, JSON and small files, which must be whole
/// before anybody can work on them, and for what else clients may leave lying.
///
/// However many clients send such data slowly, all of it together is limited. The first 4 KiB of each are not counted,
/// so that ordinary requests proceed while others have used up the rest.
final class ByteBudget: Sendable {
    /// How many bytes of each request are not counted.
    static let uncounted = 4_096

    /// The bytes in all.
    let most: Int
    private let left: Atomic<Int>

    /// A budget of `bytes` in all.
    init(_ bytes: Int) {
        most = max(0, bytes)
        left = Atomic(most)
    }

    /// Changes what is counted for a request from `before` to `now` bytes.
    /// - Returns: false when there is not enough left; then nothing has changed.
    func change(from before: Int, to now: Int) -> Bool {
        let more = max(0, now - Self.uncounted) - max(0, before - Self.uncounted)
        guard more != 0 else { return true }
        let rest = left.wrappingSubtract(more, ordering: .relaxed).newValue
        guard more > 0, rest < 0 else { return true }
        left.wrappingAdd(more, ordering: .relaxed)
        return false
    }

    /// The bytes left at this moment.
    var remaining: Int { left.load(ordering: .relaxed) }

    static var refusal: HTTPError {
        HTTPError("The server is receiving too much at once. Try again in a few seconds.", retryAfter: 2)
    }
}
