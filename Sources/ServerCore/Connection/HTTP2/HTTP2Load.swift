/// The bytes that the streams of one connection have passed to it and its client has not taken yet.
///
/// A client may have a hundred streams and take nothing of any: they share what one connection may hold.
final class HTTP2Load {
    /// The number of these bytes.
    private(set) var outstanding = 0
    private let memory: SoftByteBudget
    private let loopState: LoopState

    /// - Parameters:
    ///   - memory: the budget of all connections.
    ///   - loopState: the connection's.
    init(_ memory: SoftByteBudget, in loopState: LoopState) {
        self.memory = memory
        self.loopState = loopState
    }

    /// Whether a stream may only send what keeps it going.
    var isHeavy: Bool { outstanding >= (isCrowded ? 64 : 256) * 1_024 }

    /// How many bytes of a file a stream sends in one step.
    var piece: Int { (isCrowded ? 16 : 64) * 1_024 / (isHeavy ? 4 : 1) }

    /// Whether each connection should hold little.
    var isCrowded: Bool { memory.isCrowded || loopState.isCrowded }

    /// A stream has passed on `count` bytes.
    func hold(_ count: Int) {
        outstanding += count
        memory.hold(count)
    }

    /// `count` bytes are on their way, or lost.
    func give(_ count: Int) {
        outstanding -= count
        memory.give(count)
    }
}
