import CSyscalls
import DirectoryRoot
import NIOCore
import NIOPosix

/// One HTTP/1 connection: requests are read, responses are sent in order, and no buffer is held while it is idle.
///
/// On a plain connection, responses are sent directly on the socket while nothing is queued; only what the socket does
/// not accept goes through the channel, whose completion tells when to continue. Over TLS, ``TLSSender`` does the same
/// with what is encrypted. Requests are processed one after the other: meanwhile, at most one read of later bytes is held.
final class HTTP1Connection: ChannelInboundHandler, Carrier, Dispatching, LoopMember {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    enum Phase {
        /// Between requests, or within a head.
        case head
        /// A request is being processed.
        case exchange
        /// After a refusal: whatever is received is dropped until the client has seen the reason.
        case lingering
        case closed
    }

    let engine: Engine
    let loopState: LoopState
    /// What sends what TLS has encrypted; nil without TLS.
    let sender: TLSSender?
    var isSecure: Bool { sender != nil }
    var context: ChannelHandlerContext?
    /// The socket, for sending directly; -1 over TLS and before the channel is active.
    var socket: Int32 = -1
    var peer = ""
    private(set) var network: NetworkAddress?
    var memberIndex = -1

    // Reading
    var inbound = ByteBuffer()
    var parser: HTTP1HeadParser
    var head = RequestHead()
    /// The head as shown to the access control; nil for one that was refused before that.
    var view: RequestHeadView?
    var phase = Phase.head
    var hasReadPending = false
    var isInputClosed: Bool { inputEnd != nil }
    /// When the input ended; nil while it has not.
    private(set) var inputEnd: RecentCommits.Moment?
    /// Whether more came before the end of the input than was kept.
    var isInputCut = false
    /// See ``RequestArrival/origin``.
    let origin = RequestArrival.newOrigin()
    var incoming = IncomingBody.none
    var pipe: BodyPipe?
    /// Set while the body's task receives from the socket itself.
    var lease: SocketLease?
    /// Whether the channel reads more at once than usual.
    var readsWide = false
    /// The memory counted for that, in bytes.
    var heldWide = 0
    var owesContinue = false
    /// Access is being decided on the pool: the body waits for its reader.
    var isAsking = false
    /// The body could not be decoded: nothing after it can be parsed.
    var isBodyBroken = false
    /// The number of body bytes that were received and not wanted.
    var discarded = 0
    /// How much is still to come of a body whose request was answered with 401: our side ends after that.
    var unreadBody: Int64 = 0
    /// The tick until which that is awaited at most, however steadily it comes.
    var lingersUntil: UInt32 = 0
    /// The number of body bytes passed to the reader.
    var receivedBody: Int64 = 0
    /// The size of the head in bytes, as counted in the engine's memory.
    var heldHead = 0
    /// The number of bytes of a body received without having been asked for, since the last ones that were.
    var unasked = 0
    /// Whether the time limit for the head is running.
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
    /// The number of bytes passed to the channel that the socket has not accepted yet.
    var outstanding = 0
    /// How many of those count against the memory for all answers.
    var kept = 0
    /// The number of bytes of this response's body.
    var sentBytes: Int64 = 0
    /// The state to return to after a file within a stream has been sent.
    var streamFraming = Outgoing.none
    var isPumpScheduled = false
    var isWarming = false
    let pace: Pace
    /// Set while bytes were sent ahead of the rate limit: what comes next waits for it.
    var pause: Scheduled<Void>?
    /// For the body of the response.
    var held = HeldAnswer()

    // Time
    var deadline: UInt32 = .max
    var reader = ReaderWatch()
    var silence = SilenceWatch()
    var progress: ClientProgress
    /// How the client takes what is kept for it, in any phase.
    var taking: ClientProgress
    /// While lingering: whether the time limit for what the system still has to send is running.
    var isTimingTail = false
    var lastActivity: UInt32

    init(engine: Engine, loopState: LoopState, sender: TLSSender?) {
        self.engine = engine
        self.loopState = loopState
        self.sender = sender
        parser = HTTP1HeadParser(limits: engine.headLimits)
        pace = engine.pace(on: loopState.loop)
        lastActivity = loopState.tick
        progress = ClientProgress(loopState.tick)
        taking = ClientProgress(loopState.tick)
    }

    // MARK: - The channel's calls

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        sender?.didDrain = { result in
            // Otherwise it was something of TLS itself.
            guard self.outstanding > 0 else { return }
            self.socketAccepted(self.outstanding, counted: self.kept, result)
        }
        if context.channel.isActive { begin(context) }
    }

    func channelActive(context: ChannelHandlerContext) {
        begin(context)
        context.fireChannelActive()
    }

    private func begin(_ context: ChannelHandlerContext) {
        guard memberIndex < 0, phase != .closed else { return }
        // Nobody would receive a response.
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

    /// There are too many connections: answers 503, though not over TLS, and closes.
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
        // The end of what was received before has been cut off already.
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

    /// Drops what was already parsed of ``inbound``, before `more` bytes are added.
    ///
    /// If each of a client's writes ends within a head, there is always a rest: everything that it ever sent would be
    /// kept.
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
        endInput()
        exchange?.noteInputEnd()
        hasReadPending = false
        if let lease { return lease.deliverEnd() }
        work()
    }

    func endInput() {
        inputEnd = inputEnd ?? .now
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // A reset, a broken pipe or a failed handshake: caused by the peer.
        abort()
    }

    func channelInactive(context: ChannelHandlerContext) {
        becomeClosed()
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        becomeClosed()
        sender?.didDrain = nil
        self.context = nil
    }

    // MARK: - Turns of the loop

    /// Continues with whatever can continue, sends the output buffer, and reads if more can be used.
    func work() {
        process()
        flush(more: false)
        lendOutlet()
        // So that the channel can reuse its buffer.
        if inbound.readableBytes == 0 { inbound = ByteBuffer() }
        cutShort()
        if isInputClosed { endOfInput() }
    }

    private func process() {
        while true {
            switch phase {
            case .head:
                // A client that does not take responses gets no more of them: they would be held here.
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

    /// The peer sends nothing more: what it has requested is still answered.
    private func endOfInput() {
        switch phase {
        case .head:
            // Requests that wait until the socket accepts earlier responses.
            guard inbound.readableBytes == 0 || canSend else { return }
            close()
        case .lingering: close()
        case .exchange:
            if !isBodyDone, !isAsking {
                // The rest was sent, though not kept: the client has done nothing wrong.
                if isInputCut { return close() }
                isBodyBroken = true
                closesAfter = true
                endPipe(.failure(.bodyBrokenOff))
                // Nothing else would end it: no more of the unwanted body will come.
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
                // One read ahead, so that a disconnect is noticed; then back-pressure.
                if inbound.readableBytes == 0 { read() }
            } else if isAnswered || pipe?.isWanted == true || pipe == nil && exchange?.endsWithClient == true {
                read()
            }
        case .closed: break
        }
    }
}
