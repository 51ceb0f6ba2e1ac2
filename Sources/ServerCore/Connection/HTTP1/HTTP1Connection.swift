import CSyscalls
import DirectoryRoot
import NIOCore
import NIOPosix

/// One HTTP/1 connection: heads come in, responses go out in order, and nothing is held while it is idle.
///
/// On a plain connection answers are sent straight on the socket while nothing is queued, and only what the socket does
/// not take goes through the channel, whose completion says when to go on; over TLS all goes through the channel.
/// Requests are read one at a time: while one is in work, at most one read of later bytes is held.
final class HTTP1Connection: ChannelInboundHandler, Carrier, LoopMember {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    enum Phase {
        /// Between requests, or inside a head.
        case head
        /// A request is in work.
        case exchange
        /// Refused: whatever still comes is thrown away until the client has seen why.
        case lingering
        case closed
    }

    let engine: Engine
    let loopState: LoopState
    let isSecure: Bool
    var context: ChannelHandlerContext?
    /// The socket, for sending straight on it; -1 over TLS and before the channel is active.
    var socket: Int32 = -1
    var peer = ""
    private(set) var network: NetworkAddress?
    var memberIndex = -1

    // Reading
    var inbound = ByteBuffer()
    var parser: HTTP1HeadParser
    var head = RequestHead()
    /// The head as it was shown to the access control; nil for one that was refused before.
    var view: RequestHeadView?
    var phase = Phase.head
    var hasReadPending = false
    var isInputClosed = false
    var incoming = IncomingBody.none
    var pipe: BodyPipe?
    /// While the body's task receives from the socket itself.
    var lease: SocketLease?
    var owesContinue = false
    /// Access is being decided on the pool: the body waits for its reader.
    var isAsking = false
    /// The body came apart: nothing after it can be read.
    var isBodyBroken = false
    /// Body bytes that came and nobody wanted.
    var discarded = 0
    /// Of a body whose request was answered by 401, what has not come yet: our side ends behind it.
    var unreadBody: Int64 = 0
    /// For no longer than until this tick that is waited for, however steadily it comes.
    var lingersUntil: UInt32 = 0
    /// Body bytes that went to the reader.
    var receivedBody: Int64 = 0
    /// Bytes of the head, as they are counted in the engine's memory.
    var heldHead = 0
    /// Bytes of a body that came without having been asked for, since the last ones that were.
    var unasked = 0
    /// Whether the time for the head runs.
    var isTimingHead = false

    // Answering
    var exchange: Exchange?
    var outgoing = Outgoing.none
    var isAnswering = false
    var isAnswered = false
    var closesAfter = false
    var isHeadOnly = false
    var status = 0
    /// For the access log.
    var user: String?
    var beganAt: Int64 = 0
    /// Bytes given to the channel that the socket has not taken yet.
    var outstanding = 0
    /// Of those, the ones that count against the memory for all answers.
    var kept = 0
    /// Bytes of this response's body.
    var sentBytes: Int64 = 0
    /// What to go back to when a file within a stream has been sent.
    var streamFraming = Outgoing.none
    var isPumpScheduled = false
    var isWarming = false
    let pace: Pace
    var isPaused = false

    // Time
    var deadline: UInt32 = .max
    var reader = ReaderWatch()
    var silence = SilenceWatch()
    var progress: ClientProgress
    /// How its client takes what is kept for it, in whichever phase.
    var taking: ClientProgress
    /// While it lingers: the time for what the system still has of the answers has begun.
    var isTimingTail = false
    var lastActivity: UInt32

    init(engine: Engine, loopState: LoopState, isSecure: Bool) {
        self.engine = engine
        self.loopState = loopState
        self.isSecure = isSecure
        parser = HTTP1HeadParser(limits: engine.headLimits)
        pace = engine.pace()
        lastActivity = loopState.tick
        progress = ClientProgress(loopState.tick)
        taking = ClientProgress(loopState.tick)
    }

    // MARK: - The channel's calls

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        if context.channel.isActive { begin(context) }
    }

    func channelActive(context: ChannelHandlerContext) {
        begin(context)
        context.fireChannelActive()
    }

    private func begin(_ context: ChannelHandlerContext) {
        guard memberIndex < 0, phase != .closed else { return }
        // Nobody would hear an answer.
        guard let peer = context.channel.peer else { return closeAtOnce() }
        self.peer = peer
        network = NetworkAddress(peer)?.network
        guard engine.takes(self, in: loopState) else { return turnAway() }
        loopState.enter(self)
        engine.counters.opened()
        if !isSecure {
            socket =
                (try? context.pipeline.syncOperations.withUnsafeTransportIfAvailable(of: NIOBSDSocket.Handle.self) {
                    $0
                }) ?? -1
        }
        setDeadline(engine.limits.idleTime)
        read()
    }

    /// Too many are here: says so, and goes.
    private func turnAway() {
        guard let context else { return }
        if !isSecure {
            let text = "Too many connections are open. Try again in a few seconds.\n"
            var buffer = context.channel.allocator.buffer(capacity: 256)
            buffer.writeString(
                "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 5\r\nContent-Type: text/plain; charset=utf-8\r\n"
                    + "Content-Length: \(text.utf8.count)\r\nConnection: close\r\n\r\n" + text)
            context.writeAndFlush(wrapOutboundOut(buffer), promise: nil)
        }
        closeAtOnce()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let isAsked = hasReadPending
        hasReadPending = false
        var buffer = unwrapInboundIn(data)
        engine.counters.received(buffer.readableBytes)
        // Of what came before, the end was cut off already.
        guard !isInputClosed else { return }
        if isAsked { releaseUnasked() } else if !holdUnasked(buffer.readableBytes) { return abort() }
        lastActivity = loopState.tick
        if let lease {
            deadline = .max
            if lease.deliver(buffer.readBytes(length: buffer.readableBytes) ?? []) {
                setDeadline(engine.limits.bodyStallTime)
                read()
            }
            return
        }
        if inbound.readableBytes == 0 {
            inbound = buffer
        } else {
            forgetRead(with: buffer.readableBytes, in: context)
            inbound.writeBuffer(&buffer)
        }
        work()
    }

    /// Lets go of what was read of ``inbound``, before so many bytes are added.
    ///
    /// Of a client whose every write ends within a head there is always a rest: all that it ever sent would stay.
    private func forgetRead(with more: Int, in context: ChannelHandlerContext) {
        guard inbound.readerIndex > 0 else { return }
        var rest = context.channel.allocator.buffer(capacity: inbound.readableBytes + more)
        rest.writeBuffer(&inbound)
        inbound = rest
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        readIfUseful()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard case .some(ChannelEvent.inputClosed) = event as? ChannelEvent else {
            return context.fireUserInboundEventTriggered(event)
        }
        isInputClosed = true
        hasReadPending = false
        if let lease { return lease.deliverEnd() }
        work()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // A reset, a broken pipe, a failed handshake: the peer's affair.
        abort()
    }

    func channelInactive(context: ChannelHandlerContext) {
        becomeClosed()
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        becomeClosed()
        self.context = nil
    }

    // MARK: - Turns of the loop

    /// Goes on with whatever can go on, sends what was gathered, and reads if more can be used.
    func work() {
        process()
        flush(more: false)
        lendOutlet()
        // So that the channel can use its buffer again.
        if inbound.readableBytes == 0 { inbound = ByteBuffer() }
        cutShort()
        if isInputClosed { endOfInput() }
    }

    private func process() {
        while true {
            switch phase {
            case .head:
                // Who does not take the answers is not given more of them: they would be held here.
                guard inbound.readableBytes > 0, !closesAfter, canSend else { return }
                if answerAgain() { continue }
                guard readHead() else { return }
            case .exchange:
                if isAsking { return }
                if !isBodyDone { receiveBody() }
                guard isAnswered, phase == .exchange else { return }
                guard finishExchange() else { return }
            case .lingering:
                discard()
                return
            case .closed:
                return
            }
        }
    }

    /// The peer sends nothing more: what it asked for is still answered.
    private func endOfInput() {
        switch phase {
        case .head:
            // Requests that wait for the socket to take earlier answers.
            guard inbound.readableBytes == 0 || canSend else { return }
            close()
        case .lingering: close()
        case .exchange:
            if !isBodyDone, !isAsking {
                isBodyBroken = true
                closesAfter = true
                endPipe(.failure(.bodyBrokenOff))
                // Nothing else would end it: of the body that nobody wanted, no more comes.
                if isAnswered { _ = finishExchange() }
            }
        case .closed: break
        }
    }

    func read() {
        guard !hasReadPending, !isInputClosed, phase != .closed, let context else { return }
        hasReadPending = true
        context.read()
    }

    func readIfUseful() {
        guard lease == nil else { return }
        switch phase {
        case .head:
            if canSend || inbound.readableBytes == 0 { read() }
        case .lingering: read()
        case .exchange:
            if isBodyDone {
                // One read ahead, so that a peer that leaves is noticed; then back-pressure.
                if inbound.readableBytes == 0 { read() }
            } else if isAnswered || pipe?.isWanted == true {
                read()
            }
        case .closed: break
        }
    }
}
