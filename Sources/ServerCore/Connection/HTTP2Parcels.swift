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
    private var gathered = 0

    init(_ load: HTTP2Load) { self.load = load }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        // Each write is a record of TLS at least.
        let count = unwrapOutboundIn(data).readableBytes + 32
        if gathered > 0, gathered + count > Self.size, load.isCrowded { flush(context: context) }
        gathered += count
        context.write(data, promise: promise)
    }

    func flush(context: ChannelHandlerContext) {
        gathered = 0
        context.flush()
    }
}
