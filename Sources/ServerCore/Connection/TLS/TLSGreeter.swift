import Logging
import NIOCore
import NIOHTTP2
import NIOSSL
import NIOTLS

/// Waits for the end of a TLS handshake, within the time limit for a head, and replaces itself by the negotiated
/// protocol.
final class TLSGreeter: ChannelInboundHandler, RemovableChannelHandler, LoopMember {
    typealias InboundIn = ByteBuffer

    private let engine: Engine
    private let loopState: LoopState
    private let sender: TLSSender
    private var context: ChannelHandlerContext?
    private var deadline: UInt32
    private var peer = ""
    private(set) var network: NetworkAddress?
    private var hasFailed = false
    var memberIndex = -1

    init(engine: Engine, loopState: LoopState, sender: TLSSender) {
        self.engine = engine
        self.loopState = loopState
        self.sender = sender
        deadline = loopState.tick &+ Limits.ticks(engine.limits.headTime) &+ 1
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        if context.channel.isActive { begin(context) }
    }

    func channelActive(context: ChannelHandlerContext) {
        begin(context)
        context.fireChannelActive()
    }

    private func begin(_ context: ChannelHandlerContext) {
        guard memberIndex < 0 else { return }
        guard let peer = context.channel.peer else { return context.closeBelowTLS() }
        self.peer = peer
        network = NetworkAddress(peer)?.network
        guard engine.takes(self, in: loopState) else { return context.closeBelowTLS() }
        loopState.enter(self)
        engine.counters.greeting()
        context.read()
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        context.read()
        context.fireChannelReadComplete()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard case .handshakeCompleted(let agreed)? = event as? TLSUserEvent else {
            return context.fireUserInboundEventTriggered(event)
        }
        leave()
        // What ends the handshake came from the client, and BoringSSL answers it only with the first response.
        context.channel.acknowledgeAtOnce()
        do {
            if agreed == "h2" {
                try HTTP2Connection.configure(context.channel, peer: peer, engine: engine, loopState: loopState)
            } else {
                let connection = HTTP1Connection(engine: engine, loopState: loopState, sender: sender)
                try context.pipeline.syncOperations.addHandler(connection)
            }
            context.pipeline.syncOperations.removeHandler(self, promise: nil)
        } catch {
            context.close(promise: nil)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // No TLS, no common version, no certificate: caused by the peer. At most one log line per connection.
        if !hasFailed {
            hasFailed = true
            engine.logger.debug("a TLS handshake failed", metadata: ["peer": "\(peer)", "error": "\(error)"])
        }
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        leave()
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        leave()
        self.context = nil
    }

    private func leave() {
        guard memberIndex >= 0 else { return }
        engine.release(self, from: loopState)
    }

    // MARK: - The calls of LoopState

    func secondPassed(_ tick: UInt32) { if tick >= deadline { abort() } }

    func drain() { abort() }

    func abort() { context?.closeBelowTLS() }

    var idleSince: UInt32? { deadline &- 1 }
}
