import NIOCore
import NIOHTTP2

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// A connection on which HTTP/2 was negotiated: SwiftNIO handles the frames, and each stream is an ``HTTP2Stream`` that
/// reports its beginning and end here, so that an idle connection is closed, and one with streams waits for them.
///
/// RFC 9113.
final class HTTP2Connection: ChannelInboundHandler, LoopMember {
    typealias InboundIn = HTTP2Frame

    let engine: Engine
    let loopState: LoopState
    let peer: String
    let network: NetworkAddress?
    let pace: Pace
    let load: HTTP2Load
    /// What its streams' clients may send before any of it is read.
    let windows: BudgetShare
    private var context: ChannelHandlerContext?
    private var meter: HTTP2FrameMeter?
    private var streams = 0
    /// The streams that wait until the channel accepts more, in the order in which they continue.
    private var queue: CircularBuffer<HTTP2Stream> = []
    private var isGoingOn = false
    /// The number of body bytes sent in this turn of the loop.
    private var sentInTurn = 0
    /// The number of streams whose response ends, or has ended, with an empty frame.
    private var emptyEnds = 0
    /// The number of body bytes in frames, for all streams.
    private(set) var framedBytes: Int64 = 0
    /// The last stream that the client began; 0 before the first.
    private var lastStream = 0
    private var lastActivity: UInt32
    private var reader = ReaderWatch()
    private var progress: ClientProgress
    private var silence = SilenceWatch()
    /// The counted size of a head that is being received, in bytes.
    private var heldHead = 0
    /// The tick until which the client's own end is awaited, once the connection has announced that it ends.
    private var closing: UInt32?
    /// Whether the time limit for what the system still has to send is running.
    private var isTimingTail = false
    /// Whether the client was told that no new streams are accepted.
    private(set) var isEnding = false
    private var isInputClosed = false
    /// The frame layer has sent GOAWAY, which it only does when its client is at fault.
    private var hasFault = false
    var memberIndex = -1

    private init(engine: Engine, loopState: LoopState, peer: String) {
        self.engine = engine
        self.loopState = loopState
        self.peer = peer
        network = NetworkAddress(peer)?.network
        pace = engine.pace(on: loopState.loop)
        load = HTTP2Load(engine.memory.unsent, in: loopState)
        windows = BudgetShare(of: engine.memory.windows)
        lastActivity = loopState.tick
        progress = ClientProgress(loopState.tick)
    }

    /// Configures a channel for HTTP/2.
    static func configure(_ channel: any Channel, peer: String, engine: Engine, loopState: LoopState) throws {
        var settings = NIOHTTP2Handler.ConnectionConfiguration()
        settings.initialSettings = [
            HTTP2Setting(parameter: .maxConcurrentStreams, value: 100),
            HTTP2Setting(parameter: .maxHeaderListSize, value: engine.limits.headBytes),
        ]
        // Everything received is passed on to its stream immediately, so this only has to cover what may be in transit.
        // It is opened again when half of it is used.
        settings.targetWindowSize = 16 * 1_024 * 1_024
        // Browsers send the priorities of pictures, and again for each that is scrolled into view. The frame layer
        // keeps that many timestamps, and ``HTTP2FrameMeter`` decides how much more is too much.
        settings.controlFrameRateLimit.maximumCount = 400
        settings.controlFrameRateLimit.windowLength = .seconds(1)
        // A page that sends a stream in pieces may send empty frames; ``HTTP2FrameMeter`` limits them.
        settings.maximumSequentialEmptyDataFrames = 100
        // More than there are streams: what is still in transit for streams that were reset is no error.
        settings.maximumRecentlyResetStreams = 128
        var stream = NIOHTTP2Handler.StreamConfiguration()
        // Windows of streams are opened by ``BodyWindow``.
        stream.targetWindowSize = 0
        // A client that scrolls past a thousand pictures cancels most of them, and may have uploads on the same
        // connection.
        stream.streamResetFrameRateLimit.maximumCount = 1_000
        stream.outboundBufferSizeHighWatermark = 128 * 1_024
        stream.outboundBufferSizeLowWatermark = 64 * 1_024
        let connection = HTTP2Connection(engine: engine, loopState: loopState, peer: peer)
        let bound = NIOLoopBound(connection, eventLoop: channel.eventLoop)
        let meter = HTTP2FrameMeter(connection)
        connection.meter = meter
        try channel.pipeline.syncOperations.addHandler(HTTP2Parcels(connection))
        try channel.pipeline.syncOperations.addHandler(meter)
        _ = try channel.pipeline.syncOperations.configureHTTP2Pipeline(
            mode: .server, connectionConfiguration: settings, streamConfiguration: stream
        ) { stream in
            stream.eventLoop.makeCompletedFuture {
                try stream.pipeline.syncOperations.addHandler(HTTP2Stream(of: bound.value))
            }
        }
        try channel.pipeline.syncOperations.addHandler(connection)
        try channel.syncOptions?.setOption(.maxMessagesPerRead, value: 4)
        // A Unix-domain socket has no such option.
        try? channel.syncOptions?.setOption(
            .tcpOption(NIOBSDSocket.Option(rawValue: TCP_NOTSENT_LOWAT)), value: SocketOptionValue(mostUnsent))
        try channel.syncOptions?.setOption(.autoRead, value: true)
    }

    /// How many bytes the system keeps beyond those in transit: a request beside a large download waits behind them,
    /// and on a slow line the megabytes that the system would keep are seconds.
    private static let mostUnsent = 128 * 1_024

    // MARK: - The channel's calls

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        loopState.enter(self)
        engine.counters.opened()
        if !engine.makesWay(for: self, in: loopState) { end(.enhanceYourCalm) }
    }

    func handlerRemoved(context: ChannelHandlerContext) { leave() }

    func channelInactive(context: ChannelHandlerContext) {
        leave()
        context.fireChannelInactive()
    }

    private func leave() {
        guard memberIndex >= 0 else { return }
        engine.release(self, from: loopState)
        _ = holdHead(0)
        queue.removeAll()
        context = nil
        meter = nil
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        // The client has ended its side: what it requested is still answered.
        if case .some(ChannelEvent.inputClosed) = event as? ChannelEvent {
            isInputClosed = true
            if closing != nil { closeAtOnce() } else { end(.noError) }
        }
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if HTTP2StreamFault.isOne(error, hasSentGoAway: hasFault) { return }
        // Where its client is at fault, the frame layer has sent GOAWAY before it tells of it.
        if HTTP2StreamFault.isOfLateFrame(error), !hasFault { return }
        // A peer that violates the protocol, or is gone.
        close()
    }

    // MARK: - The streams' calls

    /// Whether input from the client is processed.
    var isListening: Bool { memberIndex >= 0 && closing == nil }

    /// The connection's channel; nil once it has ended.
    var channel: (any Channel)? { context?.channel }

    /// Counts a new stream.
    /// - Returns: whether it is answered.
    func streamBegan(_ stream: Int) -> Bool {
        streams += 1
        let hasFew = streams <= Self.fewStreams
        let hasPlace = engine.enterStreams(hasFew: hasFew)
        guard !isEnding else { return false }
        lastStream = max(lastStream, stream)
        return hasPlace || hasFew && loopState.shedWaiting()
    }

    /// How many streams each connection may have when there are few places left.
    private static let fewStreams = 4

    /// Whether the channel accepts more of a body now from the stream whose turn it is.
    var isTaking: Bool { context?.channel.isWritable ?? false }

    /// Whether it accepts more from any stream.
    var isFree: Bool { isTaking && queue.isEmpty }

    /// Queues a stream for its turn: before all that have sent something already, since many responses are small.
    func enqueue(_ stream: HTTP2Stream) {
        let place = stream.sentBody > 0 ? nil : queue.firstIndex { $0.sentBody > 0 }
        queue.insert(stream, at: place ?? queue.endIndex)
    }

    /// Removes a stream from the queue.
    func dequeue(_ stream: HTTP2Stream) { queue.removeAll { $0 === stream } }

    /// Whether it has sent its portion of this turn of the loop.
    var isTurnOver: Bool { sentInTurn >= LoopTurns.securePortion }

    /// Has a stream continue later in this turn of the loop, or in the next if this one is over.
    func goOnLater(_ stream: HTTP2Stream) {
        guard !isTurnOver else {
            return loopState.turns.wait {
                self.sentInTurn = 0
                stream.goOn()
            }
        }
        let bound = NIOLoopBound(stream, eventLoop: loopState.loop)
        loopState.loop.execute { bound.value.goOn() }
    }

    /// The channel has sent nearly everything that it had.
    func channelDrained() {
        guard !queue.isEmpty, !isGoingOn else { return }
        isGoingOn = true
        let bound = NIOLoopBound(self, eventLoop: loopState.loop)
        // This may be called from within a write.
        loopState.loop.execute { bound.value.goOn() }
    }

    private func goOn() {
        isGoingOn = false
        // A stream that is not done when the channel is full is queued behind the others.
        while isTaking, let stream = queue.popFirst() { stream.takeTurn() }
    }

    /// Counts the memory of a head that is being received.
    /// - Returns: false when there is none left for it.
    func holdHead(_ bytes: Int) -> Bool {
        guard bytes != heldHead else { return true }
        guard engine.memory.wholeRequests.change(from: heldHead, to: bytes) else { return false }
        heldHead = bytes
        return true
    }

    /// Whether an empty frame may still be sent.
    var hasEmptyEnds: Bool { emptyEnds > 0 }

    /// A stream begins a response that ends with an empty frame.
    func emptyEndBegan() { emptyEnds += 1 }

    /// Counts the end of a stream.
    /// - Parameter hadEmptyEnd: whether its response was to end with an empty frame.
    func streamEnded(hadEmptyEnd: Bool) {
        streams -= 1
        if hadEmptyEnd { emptyEnds -= 1 }
        engine.leaveStreams()
        lastActivity = loopState.tick
        closeWhenDone()
    }

    /// The socket has accepted `count` bytes of a stream.
    func sent(_ count: Int) {
        sentInTurn += count
        load.give(count)
        if closing == nil { lastActivity = loopState.tick }
        reader.begin()
        meter?.sent(count)
        closeWhenDone()
    }

    // MARK: - The end

    /// Accepts nothing new, and ends when everything that was begun is done and sent.
    private func end(_ reason: HTTP2ErrorCode) {
        guard !isEnding else { return }
        sendGoAway(reason)
        closeWhenDone()
    }

    /// Sends GOAWAY with the last stream that is still answered: what the client began after it was not processed, and
    /// may be sent again elsewhere.
    ///
    /// RFC 9113 §6.8. Written past the frame layer, which would treat the body of a request that crossed this frame as
    /// a connection error; such a stream is refused individually.
    private func sendGoAway(_ reason: HTTP2ErrorCode) {
        isEnding = true
        let hadFault = hasFault
        defer { hasFault = hadFault }
        guard let context,
            let frames = try? context.pipeline.syncOperations.context(handlerType: NIOHTTP2Handler.self)
        else { return }
        var frame = context.channel.allocator.buffer(capacity: 17)
        // A payload of eight bytes, type GOAWAY, no flags, stream 0.
        frame.writeInteger(8 << 8 | UInt32(HTTP2FrameType.goAway))
        frame.writeInteger(0 as UInt8)
        frame.writeInteger(0 as UInt32)
        frame.writeInteger(UInt32(clamping: lastStream))
        frame.writeInteger(UInt32(http2ErrorCode: reason))
        frames.writeAndFlush(NIOAny(frame), promise: nil)
    }

    /// Bytes of bodies have gone into frames, within their streams' windows.
    func framed(_ count: Int) { framedBytes &+= Int64(count) }

    /// A GOAWAY frame is being written: by the frame layer, or by ``sendGoAway(_:)``, which undoes this.
    func didSendGoAway() { hasFault = true }

    /// Ends the connection: the client sends what can only be meant to harm.
    func breakOff() {
        sendGoAway(.enhanceYourCalm)
        close()
    }

    private func closeWhenDone() {
        guard isEnding, streams <= 0, load.outstanding <= 0, memberIndex >= 0 else { return }
        let bound = NIOLoopBound(self, eventLoop: loopState.loop)
        // In the next turn: the last frames may be written already, but not flushed.
        loopState.loop.execute {
            let connection = bound.value
            if connection.streams <= 0 { connection.close() }
        }
    }

    /// Announces that nothing more is sent, and waits for the client to do the same, or for as long as it takes what
    /// the system still has for it.
    private func close() {
        guard memberIndex >= 0, closing == nil else { return }
        closing = loopState.tick &+ Limits.ticks(engine.limits.lingerTime) &+ 1
        _ = holdHead(0)
        reader.begin()
        context?.close(mode: .output, promise: nil)
        if isInputClosed || engine.isShuttingDown { closeAtOnce() }
    }

    /// Closes the socket immediately: TLS would wait for its client's close_notify, and keep its memory for seconds.
    private func closeAtOnce() {
        context?.closeBelowTLS()
        leave()
    }

    /// A second of waiting for the client's end has passed.
    private func waitForEnd(until deadline: UInt32, _ tick: UInt32) {
        reader.look(at: channel)
        guard tick >= deadline else { return }
        let isFirst = !isTimingTail && ReaderWatch.isOwed(by: channel)
        guard isFirst || reader.hasGoneOn(on: channel) else { return closeAtOnce() }
        isTimingTail = true
        reader.begin()
        closing = tick &+ Limits.ticks(engine.limits.readerStallTime) &+ 1
    }

    // MARK: - The calls of LoopState

    func secondPassed(_ tick: UInt32) {
        if let closing { return waitForEnd(until: closing, tick) }
        if let meter, meter.secondPassed() > Limits.ticks(engine.limits.headTime) { return breakOff() }
        if load.outstanding <= SoftByteBudget.uncounted {
            progress.rest(tick)
        } else if let confirmed = ReaderWatch.confirmed(on: channel) {
            _ = progress.look(confirmed, tick)
        }
        if streams > 0, load.outstanding == 0,
            silence.isSilent(on: channel, tick, limit: Limits.ticks(engine.limits.readerStallTime))
        {
            return abort()
        }
        // When its streams have ended, the ends of responses may still wait for the socket, or in the system.
        if streams <= 0, load.outstanding > 0 || tick &- lastActivity <= 1 { reader.look(at: channel) }
        guard streams <= 0, tick &- lastActivity > Limits.ticks(engine.limits.idleTime) else { return }
        if reader.hasGoneOn(on: channel) {
            lastActivity = tick
            return reader.begin()
        }
        if isEnding { close() } else { end(.noError) }
    }

    func drain() {
        // Shutting down does not wait for a client that has received its whole answer.
        if closing != nil { closeAtOnce() } else { end(.noError) }
    }

    func abort() {
        if !isEnding { sendGoAway(.noError) }
        closeAtOnce()
    }

    var idleSince: UInt32? { streams <= 0 || closing != nil ? lastActivity : nil }

    var stalledSince: UInt32? { load.outstanding > SoftByteBudget.uncounted ? max(lastActivity, progress.since) : nil }
}
