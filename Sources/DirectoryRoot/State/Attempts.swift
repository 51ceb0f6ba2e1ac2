/// Steps that don't depend on each other: when one fails, the others are done all the same, and the first failure is
/// thrown at the end.
struct Attempts {
    private var failure: RootError?

    mutating func run(_ step: () throws(RootError) -> Void) {
        do throws(RootError) { try step() } catch { failure = failure ?? error }
    }

    /// - Throws: what the first failing step threw.
    func finish() throws(RootError) {
        if let failure { throw failure }
    }
}
