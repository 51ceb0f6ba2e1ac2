import NIOCore

/// Answers plain HTTP on a TLS port with an explanation.
///
/// Without an answer, browsers say only that the page does not work. It is placed before TLS in the pipeline until the
/// first bytes have arrived; ``TLSGreeter`` limits the time for these and for the refusal.
final class PlainTextRefusal: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private var hasRefused = false

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        // What follows the refusal is read to its end, so that the refusal arrives.
        guard !hasRefused else { return }
        // The first byte of TLS is a record type, 22; that of a request is the first letter of its method.
        guard let first = unwrapInboundIn(data).readableBytesView.first, ASCII.isLetter(first) else {
            context.fireChannelRead(data)
            context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
            return
        }
        hasRefused = true
        context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: Self.refusal)), promise: nil)
        context.close(mode: .output, promise: nil)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if hasRefused, event as? ChannelEvent == .inputClosed { return context.close(promise: nil) }
        context.fireUserInboundEventTriggered(event)
    }

    private static let refusal: String = {
        let text = "This server is reached by an address that begins with https://, not with http://.\n"
        return """
            HTTP/1.1 400 Bad Request\r
            Content-Type: text/plain; charset=utf-8\r
            Content-Length: \(text.utf8.count)\r
            Connection: close\r
            \r
            \(text)
            """
    }()
}
