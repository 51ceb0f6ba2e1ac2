import NIOCore

/// Examines what an HTTP/2 client sends before the frame layer does, and ends a connection whose frames carry next to
/// nothing, or that the frame layer would not survive.
///
/// The frame layer limits what waits for a reader in bytes of bodies, but a frame with one byte takes a hundred bytes
/// of memory; frames that open windows by one byte only cost time.
///
/// A client that shrinks its windows may make one of them negative: RFC 9113 §6.9.2 allows that. The frame layer traps
/// when it sends an empty frame into such a window, and an empty frame ends each response whose length was not known
/// before. So a connection is ended when its windows shrink during such a response; all others are served.
///
/// Frames are passed on complete, bodies also in pieces. The frame layer keeps all bytes of a connection until one of
/// its reads ends at the end of a frame. A client that never let that happen took as much memory as it sent, and
/// crashed the process at 4 GiB.
final class HTTP2FrameMeter: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private var count = HTTP2FrameCount()
    /// The beginning of an incomplete frame.
    private var rest = ByteBuffer()
    /// The request and the frame that were incomplete when the last second passed, and for how many seconds either has
    /// been.
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
        // The frame layer may process both at once, and the response may begin in between.
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

    /// Called once a second.
    /// - Returns: for how many seconds one request's fields, or one frame that is kept here, have been incomplete.
    func secondPassed() -> Int {
        count.grant(1_000)
        let fields = count.isWithinFields ? count.requests : nil
        let frame = rest.readableBytes > 0 ? count.frames : nil
        let isSame = fields != nil && fields == slow.request || frame != nil && frame == slow.frame
        slow = (fields, frame, isSame ? slow.seconds + 1 : 0)
        return slow.seconds
    }

    /// The client has taken `bytes` of bodies, and may send frames about them.
    func sent(_ bytes: Int) { count.grant(bytes / 512 + 1) }
}
