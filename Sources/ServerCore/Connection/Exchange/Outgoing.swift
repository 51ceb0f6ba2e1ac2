import NIOCore

/// The part of a response that is sent after its head.
enum Outgoing {
    case none
    /// A body in memory, of which the bytes from an index on are still to be sent, as the rate limit allows.
    case bytes([UInt8], from: Int)
    /// A span of a file: a piece of a stream if `isPiece`, else the whole body.
    case file(FileSpan, isPiece: Bool)
    /// The pieces of the sink: chunked, with a number of bytes still to come, or until the connection ends.
    case stream(isChunked: Bool, remaining: Int64?)

    var isNone: Bool { if case .none = self { true } else { false } }

    /// Notes that the next piece of `span` is in memory now, or was read, if that is still the next piece.
    mutating func markWarm(_ span: FileSpan, _ read: ByteBuffer?) {
        guard case .file(var mine, let isPiece) = self, mine.entry === span.entry, mine.offset == span.offset else {
            return
        }
        mine.markWarm(read)
        self = .file(mine, isPiece: isPiece)
    }
}
