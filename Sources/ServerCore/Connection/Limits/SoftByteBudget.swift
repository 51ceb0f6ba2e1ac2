import Synchronization

/// Bytes of memory for what of answers their clients are slow to take, of all connections together; what has to go on
/// may exceed them.
final class SoftByteBudget: Sendable {
    /// So much of one answer is not counted: clients of ordinary answers are not disturbed by those who leave large
    /// ones.
    static let uncounted = 16 * 1_024

    private let most: Int
    private let left: Atomic<Int>

    /// Room for `bytes` in all.
    init(_ bytes: Int) {
        most = max(0, bytes)
        left = Atomic(most)
    }

    /// Whether so much is taken that each connection should hold little.
    var isCrowded: Bool { left.load(ordering: .relaxed) < most / 4 * 3 }

    /// Whether nothing is left.
    var isFull: Bool { left.load(ordering: .relaxed) <= 0 }

    /// Takes room for `count` bytes; false when there is none.
    func take(_ count: Int) -> Bool {
        guard left.wrappingSubtract(count, ordering: .relaxed).newValue < 0 else { return true }
        left.wrappingAdd(count, ordering: .relaxed)
        return false
    }

    /// Takes room for what has to go on, be there any or not.
    func hold(_ count: Int) { left.wrappingSubtract(count, ordering: .relaxed) }

    /// Gives back what was taken.
    func give(_ count: Int) { left.wrappingAdd(count, ordering: .relaxed) }
}
