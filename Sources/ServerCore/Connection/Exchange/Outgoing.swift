import NIOCore

/// What is being sent behind a response's head.
enum Outgoing {
    case none
    /// A span of a file; `isPiece` of a stream, else the whole body.
    case file(FileSpan, isPiece: Bool)
    /// The sink's pieces; chunked, or a number of bytes still to come, or until the connection ends.
    case stream(isChunked: Bool, remaining: Int64?)

    var isNone: Bool { if case .none = self { true } else { false } }

    /// Notes that the piece of `span` that comes next is in memory now, or was read, if it still comes next.
    mutating func markWarm(_ span: FileSpan, _ read: ByteBuffer?) {
        guard case .file(var mine, let isPiece) = self, mine.entry === span.entry, mine.offset == span.offset else {
            return
        }
        mine.markWarm(read)
        self = .file(mine, isPiece: isPiece)
    }
}
