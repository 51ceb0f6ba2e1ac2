/// What one connection uses of a ``ByteBudget``, of which it leaves some to others.
///
/// A client may have a hundred streams, and hold what they were given for as long as it likes. Used on the connection's
/// event loop only.
final class BudgetShare {
    private let budget: ByteBudget
    private var used = 0

    /// A share of `budget`, of which nothing is used.
    init(of budget: ByteBudget) { self.budget = budget }

    /// The bytes left to all connections at this moment.
    var remaining: Int { budget.remaining }

    /// Whether a quarter of the whole budget would be left after `more` bytes, for those who have nothing yet.
    func leavesReserve(after more: Int) -> Bool { budget.remaining - more >= budget.most / 4 }

    /// Changes what is counted from `before` to `now` bytes, as ``ByteBudget/change(from:to:)``.
    /// - Returns: false also when this connection would use more than twice what is left; then nothing has changed.
    func change(from before: Int, to now: Int) -> Bool {
        let more = now - before
        if more > 0, used + more > 2 * (budget.remaining - more) { return false }
        guard budget.change(from: before, to: now) else { return false }
        used += more
        return true
    }
}
