/// The memory that all connections of a server may use together, by what it is for.
struct MemoryBudgets: Sendable {
    /// For heads and bodies of requests that are kept whole.
    let wholeRequests: ByteBudget
    /// For the names in forms, which are kept for as long as a form takes: separate from that of other requests.
    let formNames: ByteBudget
    /// For parts of bodies received before they were asked for.
    let unaskedBodies: ByteBudget
    /// For received parts of bodies that wait to be read.
    let waitingBodies: SoftByteBudget
    /// For the parts of long bodies that HTTP/2 clients may send before any of it is read.
    let windows: ByteBudget
    /// For larger reads of long bodies that come over TLS, and what TLS keeps of them: separate, since idle connections
    /// keep it.
    let wideReads: ByteBudget
    /// For responses built in memory: on HTTP/1, and on HTTP/2 those that wait for a rate limit.
    let answers: SoftByteBudget
    /// For what waits above the socket, on TLS and HTTP/2, including file contents.
    let unsent: SoftByteBudget

    /// Budgets of which nothing is used.
    init(_ limits: Limits) {
        wholeRequests = ByteBudget(limits.requestMemory)
        formNames = ByteBudget(limits.requestMemory)
        unaskedBodies = ByteBudget(limits.answerMemory)
        waitingBodies = SoftByteBudget(limits.answerMemory)
        windows = ByteBudget(limits.requestMemory / 2)
        wideReads = ByteBudget(limits.requestMemory / 2)
        answers = SoftByteBudget(limits.answerMemory)
        unsent = SoftByteBudget(limits.answerMemory)
    }
}
