import NIOCore
import NIOHTTP2

/// What a connection is when HTTP/2 was agreed on: the frames are SwiftNIO's, each stream is an ``HTTP2Stream``, and this
/// counts the streams, so that an idle connection ends and a shut-down waits.
///
/// RFC 9113.
final class HTTP2Connection: ChannelInboundHandler, LoopMember {
    typealias InboundIn = HTTP2Frame

    private let engine: Engine
    private let room: LoopRoom
    private let peer: String
    private var context: ChannelHandlerContext?
    private var streams = 0
    private var lastActivity: UInt32
    private var isDraining = false
    var roomIndex = -1

    private init(engine: Engine, room: LoopRoom, peer: String) {
        self.engine = engine
        self.room = room
        self.peer = peer
        lastActivity = room.tick
    }

    /// Makes a channel speak HTTP/2.
    static func configure(_ channel: any Channel, engine: Engine, room: LoopRoom) throws {
        let peer = channel.remoteAddress?.ipAddress ?? "unix"
        var connection = NIOHTTP2Handler.ConnectionConfiguration()
        connection.initialSettings = [
            HTTP2Setting(parameter: .maxConcurrentStreams, value: 100),
            HTTP2Setting(parameter: .maxHeaderListSize, value: engine.limits.headBytes),
            HTTP2Setting(parameter: .initialWindowSize, value: 256 * 1_024),
        ]
        connection.maximumBufferedControlFrames = 1_000
        connection.targetWindowSize = 1_024 * 1_024
        var stream = NIOHTTP2Handler.StreamConfiguration()
        stream.targetWindowSize = 256 * 1_024
        stream.outboundBufferSizeHighWatermark = 128 * 1_024
        stream.outboundBufferSizeLowWatermark = 64 * 1_024
        let bound = NIOLoopBound(room, eventLoop: channel.eventLoop)
        let pace = engine.pace()
        let load = NIOLoopBound(HTTP2Load(), eventLoop: channel.eventLoop)
        _ = try channel.pipeline.syncOperations.configureHTTP2Pipeline(
            mode: .server, connectionConfiguration: connection, streamConfiguration: stream
        ) { stream in
            stream.eventLoop.makeCompletedFuture {
                try stream.syncOptions?.setOption(.autoRead, value: false)
                try stream.pipeline.syncOperations.addHandler(
                    HTTP2Stream(engine: engine, room: bound.value, peer: peer, pace: pace, load: load.value))
            }
        }
        try channel.pipeline.syncOperations.addHandler(HTTP2Connection(engine: engine, room: room, peer: peer))
        try channel.syncOptions?.setOption(.maxMessagesPerRead, value: 4)
        try channel.syncOptions?.setOption(.autoRead, value: true)
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        room.enter(self)
        engine.counters.opened()
        if !engine.perAddress.enter(peer) { abort() }
    }

    func handlerRemoved(context: ChannelHandlerContext) { leave() }

    func channelInactive(context: ChannelHandlerContext) {
        leave()
        context.fireChannelInactive()
    }

    private func leave() {
        guard roomIndex >= 0 else { return }
        room.leave(self)
        engine.counters.closed()
        engine.perAddress.leave(peer)
        context = nil
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        case is NIOHTTP2StreamCreatedEvent: streams += 1
        case is StreamClosedEvent:
            streams -= 1
            lastActivity = room.tick
            if isDraining, streams <= 0 { context.close(promise: nil) }
        default: break
        }
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // A stream's fault ends the stream; all else is a peer that breaks the rules, or is gone.
        if error is NIOHTTP2Errors.StreamError { return }
        context.close(promise: nil)
    }

    // MARK: - The room's calls

    func secondPassed(_ tick: UInt32) {
        guard streams <= 0 else { return }
        if tick &- lastActivity > UInt32(clamping: engine.limits.idleTime.components.seconds) { abort() }
    }

    func drain() {
        isDraining = true
        if streams <= 0 { abort() }
    }

    func abort() { context?.close(promise: nil) }

    var idleSince: UInt32? { streams <= 0 ? lastActivity : nil }
}
