import Synchronization

/// Memory for what was made of answers and their clients are slow to take, of all connections together.
///
/// Files are not in it: they are read when there is room to send.
final class AnswerMemory: Sendable {
    /// So much of one answer is not counted: clients of ordinary answers are not disturbed by those who leave large ones.
    static let free = 16 * 1_024

    private let left: Atomic<Int>

    /// Room for `bytes` in all.
    init(_ bytes: Int) { left = Atomic(max(0, bytes)) }

    /// Takes room for `count` bytes; false when there is none.
    func take(_ count: Int) -> Bool {
        guard left.wrappingSubtract(count, ordering: .relaxed).newValue < 0 else { return true }
        left.wrappingAdd(count, ordering: .relaxed)
        return false
    }

    /// Gives back what was taken.
    func give(_ count: Int) { left.wrappingAdd(count, ordering: .relaxed) }
}
