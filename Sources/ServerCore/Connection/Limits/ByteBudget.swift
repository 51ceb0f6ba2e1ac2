import Synchronization

/// Bytes of memory that many requests share: for what has come of heads, XML, JSON and small files, which must be whole
/// before anybody can work on them, and for what else clients may leave lying.
///
/// However many clients send such a thing slowly, all of it together is bounded. The first 4 KiB of each are not
/// counted, so that ordinary requests go on while others have filled the rest.
final class ByteBudget: Sendable {
    /// Bytes of each request that are not counted.
    static let uncounted = 4_096

    private let left: Atomic<Int>

    /// Room for `bytes` in all.
    init(_ bytes: Int) { left = Atomic(max(0, bytes)) }

    /// Counts that a request which held `before` bytes holds `now`.
    /// - Returns: false when there is no room for more; then nothing has changed.
    func change(from before: Int, to now: Int) -> Bool {
        let more = max(0, now - Self.uncounted) - max(0, before - Self.uncounted)
        guard more != 0 else { return true }
        let rest = left.wrappingSubtract(more, ordering: .relaxed).newValue
        guard more > 0, rest < 0 else { return true }
        left.wrappingAdd(more, ordering: .relaxed)
        return false
    }

    /// What is left, for a test.
    var remaining: Int { left.load(ordering: .relaxed) }

    static var refusal: HTTPError {
        HTTPError(
            .serviceUnavailable, "The server is receiving too much at once. Try again in a few seconds.",
            fields: ["Retry-After": "2"])
    }
}
