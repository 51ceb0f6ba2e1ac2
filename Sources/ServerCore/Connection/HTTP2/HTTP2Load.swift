/// What the streams of one connection have given to it and its client has not taken yet.
///
/// A client may have a hundred streams and take nothing of any: they share what one connection may hold.
final class HTTP2Load {
    /// Bytes.
    private(set) var outstanding = 0
    private let memory: SoftByteBudget
    private let loopState: LoopState

    /// - Parameters:
    ///   - memory: of all connections.
    ///   - loopState: the connection's.
    init(_ memory: SoftByteBudget, in loopState: LoopState) {
        self.memory = memory
        self.loopState = loopState
    }

    /// Whether a stream only gets what keeps it going.
    var isHeavy: Bool { outstanding >= (isCrowded ? 64 : 256) * 1_024 }

    /// Bytes of a file that a stream gives at once.
    var piece: Int { (isCrowded ? 16 : 64) * 1_024 / (isHeavy ? 4 : 1) }

    /// Whether each connection should hold little.
    var isCrowded: Bool { memory.isCrowded || loopState.isCrowded }

    /// A stream has given `count` bytes.
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
