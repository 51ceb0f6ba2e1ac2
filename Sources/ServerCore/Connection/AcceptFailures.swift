import CSyscalls
import Logging
import NIOCore

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// Keeps a listener working whatever accepting a connection fails with: it goes on a moment later.
///
/// When the process has run out of descriptors, idle connections are closed. After errors that it does not expect, NIO
/// closes the socket; Linux returns those of a new connection, too, which say nothing about the socket.
final class AcceptFailures: ChannelInboundHandler {
    typealias InboundIn = any Channel

    private let listener: Listener
    private let socket: ListeningSocket
    private var isPaused = false

    init(listener: Listener, socket: ListeningSocket) {
        self.listener = listener
        self.socket = socket
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        let number = (error as? IOError)?.errnoCode ?? 0
        // That client has gone, and the next one may be waiting.
        guard number != ECONNABORTED, !isPaused else { return }
        // Otherwise it would be called again immediately, for ever, until there is a descriptor.
        isPaused = true
        let channel = context.channel
        // Fails only on a closed channel, which accepts no connections anyway.
        try? channel.syncOptions?.setOption(.autoRead, value: false)
        if number == EMFILE || number == ENFILE { listener.loopStates.tellEach { $0.freeDescriptors(16) } }
        let engine = listener.engine
        engine.acceptWarning.log(
            "connections wait: one could not be accepted", to: engine.logger,
            metadata: ["reason": "\(number == 0 ? "\(error)" : unsafe String(cString: strerror(number)))"])
        // NIO may close the socket after this, and decides that alone.
        let copy =
            (try? context.pipeline.syncOperations.withUnsafeTransportIfAvailable(of: NIOBSDSocket.Handle.self) {
                fcntl($0, F_DUPFD_CLOEXEC, 0)
            }) ?? -1
        let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
        context.eventLoop.scheduleTask(in: .milliseconds(50)) { bound.value.goOn(channel, copy) }
    }

    private func goOn(_ channel: any Channel, _ copy: Int32) {
        isPaused = false
        guard !channel.isActive, !socket.isClosed else {
            if copy >= 0 { close(copy) }
            try? channel.syncOptions?.setOption(.autoRead, value: true)
            return
        }
        guard copy >= 0 else {
            return listener.engine.logger.critical("no more connections are accepted: start the server anew")
        }
        listener.reopen(socket, copy)
    }
}
