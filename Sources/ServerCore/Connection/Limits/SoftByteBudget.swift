import Synchronization

/// Bytes of memory for what of answers their clients are slow to take, of all connections together; what has to go on
/// may exceed them.
final class SoftByteBudget: Sendable {
    /// Bytes of each answer that are not counted, so that a few slow readers of large answers do not slow down ordinary
    /// ones.
    static let uncounted = 16 * 1_024

    private let most: Int
    private let left: Atomic<Int>

    /// A budget of `bytes` in all.
    init(_ bytes: Int) {
        most = max(0, bytes)
        left = Atomic(most)
    }

    /// Whether so much is in use that each connection should hold little.
    var isCrowded: Bool { left.load(ordering: .relaxed) < most / 4 * 3 }

    /// Whether nothing is left.
    var isFull: Bool { left.load(ordering: .relaxed) <= 0 }

    /// Takes `count` bytes; false when they are not available.
    func take(_ count: Int) -> Bool {
        guard left.wrappingSubtract(count, ordering: .relaxed).newValue < 0 else { return true }
        left.wrappingAdd(count, ordering: .relaxed)
        return false
    }

    /// Takes bytes for what has to continue, whether available or not.
    func hold(_ count: Int) { left.wrappingSubtract(count, ordering: .relaxed) }

    /// Gives back what was taken.
    func give(_ count: Int) { left.wrappingAdd(count, ordering: .relaxed) }
}
