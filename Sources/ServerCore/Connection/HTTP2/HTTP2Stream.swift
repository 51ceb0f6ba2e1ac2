import NIOCore
import NIOHTTP2

/// One request and its response on an HTTP/2 connection.
///
/// RFC 9113 §8.
final class HTTP2Stream: ChannelInboundHandler, Carrier, Dispatching, LoopMember {
    typealias InboundIn = HTTP2Frame.FramePayload
    typealias OutboundOut = HTTP2Frame.FramePayload

    let connection: HTTP2Connection
    let engine: Engine
    let loopState: LoopState
    let pace: Pace
    /// Set while bytes were sent ahead of the rate limit: what comes next waits for it.
    var pause: Scheduled<Void>?
    /// For the body of the response.
    var heldAnswer = HeldAnswer()
    /// The number of body bytes passed to the channel.
    var sentBody: Int64 = 0
    /// How many of those were lost because the stream ended before they were sent.
    var lostBody: Int64 = 0
    var context: ChannelHandlerContext?
    var memberIndex = -1

    var head = RequestHead()
    var view: RequestHeadView?
    var user: String?
    var exchange: Exchange?
    var pipe: BodyPipe?
    var hasHead = false
    var isBodyDone = false
    /// It began when no new streams were accepted any more, or there were too many.
    private var isRefused = false
    var owesContinue = false
    var received: Int64 = 0
    var window = BodyWindow()
    /// What was received of the body while access was being decided on the pool; nil at all other times.
    var held: HeldBody?

    var outgoing = Outgoing.none
    /// The state to return to after a file within a stream has been sent.
    var streamRest: Int64?
    var isAnswering = false
    var isOver = false
    var isHeadOnly = false
    /// Whether the response ends with an empty frame.
    var hasEmptyEnd = false
    var isWarming = false
    var outstanding = 0
    /// Waiting until the connection accepts more.
    var isQueued = false
    var isPumpScheduled = false
    /// The response came before the end of the request, and is not completely sent yet.
    var owesReset = false
    var isRecorded = false
    var sentBytes: Int64 = 0
    var status = 0
    var beganAt: Int64 = 0
    var deadline: UInt32 = .max
    private var reader = ReaderWatch()
    private var progress: ClientProgress
    private var intake = StreamIntake()
    /// How often the reader's time limit was renewed without a byte of this stream.
    private var renewals = 0

    /// A stream of `connection`.
    init(of connection: HTTP2Connection) {
        self.connection = connection
        engine = connection.engine
        loopState = connection.loopState
        pace = connection.pace
        progress = ClientProgress(loopState.tick)
    }

    /// The load that all streams of the connection share.
    var load: HTTP2Load { connection.load }

    var peer: String { connection.peer }
    var network: NetworkAddress? { connection.network }

    // MARK: - The channel's calls

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        loopState.enter(self)
        let number = try? context.channel.syncOptions?.getOption(HTTP2StreamChannelOptions.streamID)
        isRefused = !connection.streamBegan(number.map { Int($0) } ?? 0)
        setDeadline(engine.limits.headTime)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case _ where isRefused: reset(.refusedStream)
        case .headers(let block):
            // Trailers are checked by the frame layer, and dropped.
            if hasHead { if block.endStream { endBody() } } else { begin(block) }
        case .data(let frame): take(frame)
        default: break
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        becomeOver()
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        becomeOver()
        self.context = nil
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if !HTTP2StreamFault.isOfLateFrame(error) { reset() }
    }

    func becomeOver() {
        loopState.leave(self)
        guard !isOver else { return }
        if hasHead { recordBrokenOff() }
        isOver = true
        finishPipe(.failure(HTTPError(.badRequest, "The stream ended within the body.")))
        exchange?.detach(cancelling: true)
        exchange = nil
        outgoing = .none
        pause?.cancel()
        pause = nil
        heldAnswer.give(to: engine.memory.answers)
        if isQueued { connection.dequeue(self) }
        _ = letGo()
        window.close(connection.windows)
        connection.streamEnded(hadEmptyEnd: hasEmptyEnd)
    }

    // MARK: - The calls of LoopState

    func setDeadline(_ time: Duration) {
        deadline = loopState.tick &+ Limits.ticks(time) &+ 1
    }

    /// Limits how long the peer may take nothing of what was passed to the connection.
    func timeTheReader() {
        renewals = 0
        reader.begin()
        setDeadline(engine.limits.readerStallTime)
    }

    /// How often progress of other streams extends the time limit of this one.
    ///
    /// What is queued before it goes first, whichever stream it belongs to. But a client that opens no window for this
    /// stream must not keep it for ever by reading another.
    private static let mostRenewals = 10

    func secondPassed(_ tick: UInt32) {
        let isSending = outstanding > 0 || isQueued
        if isSending { reader.look(at: connection.channel) }
        lookAtProgress(tick, isSending: isSending)
        // It is the server that waits.
        if pause != nil { exchange?.sink.noteTaken() }
        guard tick >= deadline else { return }
        if isSending, renewals < Self.mostRenewals, reader.hasGoneOn(on: connection.channel) {
            renewals += 1
            reader.begin()
            return setDeadline(engine.limits.readerStallTime)
        }
        deadline = .max
        if isAnswering || !hasHead { return reset() }
        finishPipe(.failure(HTTPError(.requestTimeout, "The body of this request came too slowly.")))
    }

    /// Checks whether the client makes progress while something waits for it.
    private func lookAtProgress(_ tick: UInt32, isSending: Bool) {
        guard deadline != .max else { return progress.rest(tick) }
        guard isSending else {
            _ = progress.look(received, tick)
            return
        }
        let count = intake.count(
            written: sentBody &- Int64(outstanding), framed: connection.framedBytes,
            confirmed: ReaderWatch.confirmed(on: connection.channel))
        if progress.look(count, tick) { exchange?.sink.noteTaken() }
    }

    func drain() {}

    func abort() { reset() }

    var idleSince: UInt32? { nil }

    var carrier: (any LoopMember)? { connection }

    var holdsPlace: Bool { exchange?.holdsPlace == true }

    var waitsSince: UInt32? { deadline == .max ? nil : progress.since }
}
