import CSyscalls
import NIOCore
import NIOPosix

/// Sends what TLS has encrypted by the socket itself, while the channel holds nothing.
///
/// It stands before TLS in the pipeline. The channel's queue, and a promise for each answer only to learn that the
/// socket has accepted it, take a fifth of the processor time of small answers.
final class TLSSender: ChannelOutboundHandler {
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let socket: Int32
    /// The number of encrypted bytes passed to the channel that the socket has not accepted yet.
    private(set) var held = 0
    /// Called when the socket has accepted all that was held, and when it never will.
    var didDrain: ((Result<Void, any Error>) -> Void)?

    /// - Parameter channel: of the connection; without a socket of its own, everything goes through it.
    init(_ channel: any Channel) {
        socket =
            (try? channel.pipeline.syncOperations.withUnsafeTransportIfAvailable(of: NIOBSDSocket.Handle.self) { $0 })
            ?? -1
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        var buffer = unwrapOutboundIn(data)
        // A channel that is not active has closed its socket, whose number may be that of another by now.
        if held == 0, socket >= 0, context.channel.isActive { send(&buffer) }
        let count = buffer.readableBytes
        guard count > 0 else {
            // Nothing, with a promise, is sent to learn when everything before it has been.
            if held > 0 { context.write(wrapOutboundOut(buffer), promise: promise) } else { promise?.succeed(()) }
            return
        }
        held += count
        let written = promise ?? context.eventLoop.makePromise(of: Void.self)
        let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
        written.futureResult.whenComplete { bound.value.channelWrote(count, $0) }
        context.write(wrapOutboundOut(buffer), promise: written)
    }

    func flush(context: ChannelHandlerContext) {
        if held > 0 { context.flush() }
    }

    /// Sends as much as the socket accepts; errors are found by the channel, which is passed the rest.
    private func send(_ buffer: inout ByteBuffer) {
        while buffer.readableBytes > 0 {
            let count = unsafe buffer.withUnsafeReadableBytes { unsafe sys_send(socket, $0.baseAddress, $0.count, 0) }
            guard count > 0 else { return }
            buffer.moveReaderIndex(forwardBy: count)
        }
    }

    private func channelWrote(_ count: Int, _ result: Result<Void, any Error>) {
        held -= count
        if held == 0 { didDrain?(result) }
    }
}
