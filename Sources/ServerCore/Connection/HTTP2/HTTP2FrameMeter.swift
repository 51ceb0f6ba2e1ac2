import NIOCore

/// Sees what an HTTP/2 client sends before the frame layer does, and ends a connection of frames that bring next to
/// nothing, or that the frame layer does not survive.
///
/// The frame layer bounds what waits for a reader in bytes of bodies, and a frame with one byte takes a hundred of
/// memory; frames that open windows by a byte cost time and nothing else.
///
/// A client that makes its windows smaller may make one of them negative: RFC 9113 §6.9.2 allows it. The frame layer
/// traps when it sends an empty frame into such a window, and an empty frame ends each answer whose length was not
/// known before. So a connection ends when its windows shrink during such an answer; all others are served.
///
/// Frames go on whole, bodies also in pieces. The frame layer keeps all bytes of a connection until one of its reads
/// ends where a frame ends. A client that never let that happen took as much memory as it sent, and ended the process
/// at 4 GiB.
final class HTTP2FrameMeter: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private var count = HTTP2FrameCount()
    /// The beginning of a frame whose end has not come.
    private var rest = ByteBuffer()
    /// The request whose fields were coming when the last second passed, and the frame; and for how many seconds one of
    /// them has.
    private var slow: (request: Int?, frame: Int?, seconds: Int) = (nil, nil, 0)
    private let connection: HTTP2Connection

    init(_ connection: HTTP2Connection) { self.connection = connection }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        // What comes behind a GOAWAY is read, so that the GOAWAY reaches its client, and kept and counted nowhere:
        // nobody would give it back.
        guard !count.isExhausted, connection.isListening else { return forget() }
        var bytes = unwrapInboundIn(data)
        unsafe bytes.withUnsafeReadableBytes { bytes in unsafe count.read(bytes) }
        switch count.shrinking {
        case .none: break
        case .alone: if connection.hasEmptyEnds { count.exhaust() }
        // The frame layer may see both at once, and the answer begin in between.
        case .behindRequest: count.exhaust()
        }
        if !connection.holdHead(max(count.fieldBytes, count.unfinished)) { count.exhaust() }
        guard !count.isExhausted else {
            forget()
            return connection.breakOff()
        }
        if rest.readableBytes > 0 {
            rest.writeBuffer(&bytes)
            guard count.unfinished < rest.readableBytes else { return }
            swap(&rest, &bytes)
        }
        rest = ByteBuffer()
        if count.unfinished > 0 {
            rest = context.channel.allocator.buffer(capacity: count.unfinished)
            let start = bytes.writerIndex - count.unfinished
            rest.writeBytes(bytes.viewBytes(at: start, length: count.unfinished) ?? ByteBufferView())
            bytes.moveWriterIndex(to: start)
        }
        if bytes.readableBytes > 0 { context.fireChannelRead(wrapInboundOut(bytes)) }
    }

    private func forget() { rest = ByteBuffer() }

    /// A second has passed.
    /// - Returns: for how many the fields of one request have been on their way, or one frame that is kept here.
    func secondPassed() -> Int {
        count.grant(1_000)
        let fields = count.isWithinFields ? count.requests : nil
        let frame = rest.readableBytes > 0 ? count.frames : nil
        let isSame = fields != nil && fields == slow.request || frame != nil && frame == slow.frame
        slow = (fields, frame, isSame ? slow.seconds + 1 : 0)
        return slow.seconds
    }

    /// The client took `bytes` of bodies, of which it may tell.
    func sent(_ bytes: Int) { count.grant(bytes / 512 + 1) }
}
