/// Runs independent steps: when one fails, the others still run, and the first failure is thrown at the end.
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
