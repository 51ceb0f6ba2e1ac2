import NIOCore

/// Gives TLS what the streams of a connection send in small parcels, where many connections are.
///
/// The streams of one connection that go on in one turn send as one, and SwiftNIO's TLS keeps a buffer as large as the
/// most that a connection has sent at once: half a megabyte, where a hundred streams send a little each.
final class HTTP2Parcels: ChannelOutboundHandler {
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// What one buffer of 32 KiB holds when it is encrypted.
    private static let size = 28 * 1_024

    private let load: HTTP2Load
    /// What was written since the last flush.
    private var waiting: CircularBuffer<(ByteBuffer, EventLoopPromise<Void>?)> = []
    private var isSending = false

    init(_ load: HTTP2Load) { self.load = load }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if waiting.isEmpty, !isSending, !load.isCrowded {
            context.write(data, promise: promise)
        } else {
            waiting.append((unwrapOutboundIn(data), promise))
        }
    }

    /// Sends what waits.
    ///
    /// Only here, and not as it is written: when bytes have been taken, streams write more at once, and the frame layer
    /// is in the middle of a frame while it writes.
    func flush(context: ChannelHandlerContext) {
        guard !isSending else { return }
        isSending = true
        var gathered = 0
        while let (buffer, promise) = waiting.popFirst() {
            // Each write is a record of TLS at least.
            let count = buffer.readableBytes + 32
            if gathered > 0, gathered + count > Self.size {
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
