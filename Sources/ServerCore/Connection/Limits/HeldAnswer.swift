/// What a response in memory takes of the memory for answers, while it is sent no faster than a rate limit allows.
///
/// Minutes may pass until the last of it is sent, though its client takes whatever it gets.
struct HeldAnswer {
    private var counted = 0

    /// Counts a body.
    ///
    /// Not a method that changes an answer in its place: the client that makes room may be the one that asks, whose
    /// connection gives back what it has in the middle of this.
    /// - Parameters:
    ///   - body: of the response.
    ///   - method: of the request; what a method has changed is told, whether there is memory or not.
    ///   - loopState: of its loop, whose stalled clients make room.
    ///   - memory: the memory for answers.
    /// - Returns: what was counted; nil when there is no memory left for it.
    static func take(
        _ body: Response.Body, to method: Method, of loopState: LoopState, _ memory: SoftByteBudget
    ) -> HeldAnswer? {
        guard case .bytes(let bytes) = body, bytes.count > SoftByteBudget.uncounted else { return HeldAnswer() }
        let count = bytes.count - SoftByteBudget.uncounted
        if !(memory.take(count) || loopState.shedStalled() > 0 && memory.take(count)) {
            guard !method.isSafe else { return nil }
            memory.hold(count)
        }
        return HeldAnswer(counted: count)
    }

    /// Gives back what is counted.
    mutating func give(to memory: SoftByteBudget) {
        guard counted > 0 else { return }
        memory.give(counted)
        counted = 0
    }

    /// The error when there is none left.
    static var refusal: HTTPError {
        HTTPError("The server is sending too much at once. Try again in a few seconds.", retryAfter: 5)
    }
}
