import NIOCore

/// Passes what the streams of a connection send to TLS in small portions when there are many connections.
///
/// The streams that continue in one turn of the loop send as one, and SwiftNIO's TLS keeps a buffer as large as the
/// most that a connection has sent at once: half a megabyte, if a hundred streams send a little each.
///
/// The frame layer is not told when the channel is full: it would hold back the frames that open windows, count them as
/// not sent, and open the same window again with each frame of a body. Instead the streams stop, and what is sent
/// without them is counted here.
final class HTTP2Parcels: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let connection: HTTP2Connection
    private let load: HTTP2Load
    /// How many bytes follow of a frame whose header was written.
    private var rest = 0
    /// The number of frames, except DATA, since the channel was full.
    private var unsent = 0
    /// What was written since the last flush.
    private var waiting: CircularBuffer<(ByteBuffer, EventLoopPromise<Void>?)> = []
    private var isSending = false

    init(_ connection: HTTP2Connection) {
        self.connection = connection
        load = connection.load
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        let bytes = unwrapOutboundIn(data)
        look(at: bytes, context)
        if waiting.isEmpty, !isSending, !load.isCrowded {
            context.write(data, promise: promise)
        } else {
            waiting.append((bytes, promise))
        }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        guard context.channel.isWritable else { return }
        unsent = 0
        connection.channelDrained()
    }

    /// Finds the frame GOAWAY, and counts those that a client leaves lying.
    ///
    /// Each frame is written separately, its header first; the content of a DATA frame is a write of its own. RFC 9113
    /// §4.1.
    private func look(at bytes: ByteBuffer, _ context: ChannelHandlerContext) {
        guard rest <= 0 else {
            rest -= bytes.readableBytes
            return
        }
        let start = bytes.readerIndex
        guard let word = bytes.getInteger(at: start, as: UInt32.self) else { return }
        rest = 9 + Int(word >> 8) - bytes.readableBytes
        switch UInt8(truncatingIfNeeded: word) {
        case HTTP2FrameType.data: return connection.framed(Int(word >> 8))
        case HTTP2FrameType.goAway: connection.didSendGoAway()
        default: break
        }
        guard !context.channel.isWritable else { return }
        unsent += 1
        guard unsent == Self.mostUnsent else { return }
        let bound = NIOLoopBound(connection, eventLoop: context.eventLoop)
        // In the next turn: the frame layer is in the middle of a frame.
        context.eventLoop.execute { bound.value.breakOff() }
    }

    /// More than any client needs to be sent before it reads: it may have a hundred requests.
    private static let mostUnsent = 1_000

    /// Sends what waits.
    ///
    /// Only here, and not when it is written: when bytes have been taken, streams write more immediately, and the frame
    /// layer is in the middle of a frame while it writes.
    func flush(context: ChannelHandlerContext) {
        guard !isSending else { return }
        isSending = true
        var gathered = 0
        while let (buffer, promise) = waiting.popFirst() {
            // Each write becomes at least one TLS record.
            let count = buffer.readableBytes + 32
            if gathered > 0, gathered + count > TLSPortion.size {
                gathered = 0
                context.flush()
            }
            gathered += count
            context.write(wrapOutboundOut(buffer), promise: promise)
        }
        isSending = false
        context.flush()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        while let (_, promise) = waiting.popFirst() { promise?.fail(ChannelError.ioOnClosedChannel) }
    }
}
