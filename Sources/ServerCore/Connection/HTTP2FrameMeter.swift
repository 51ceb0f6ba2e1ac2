import NIOCore

/// Sees what an HTTP/2 client sends before the frame layer does, and ends a connection of frames that bring next to
/// nothing.
///
/// The frame layer bounds what waits for a reader in bytes of bodies, and a frame with one byte takes a hundred of
/// memory; frames that open windows by a byte cost time and nothing else.
final class HTTP2FrameMeter: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private var count = HTTP2FrameCount()
    private let connection: HTTP2Connection

    init(_ connection: HTTP2Connection) { self.connection = connection }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !count.isExhausted else { return }
        unsafe unwrapInboundIn(data).withUnsafeReadableBytes { bytes in unsafe count.read(bytes) }
        guard !count.isExhausted else { return connection.breakOff() }
        context.fireChannelRead(data)
    }

    /// A second has passed.
    func secondPassed() { count.grant(1_000) }

    /// The client took `bytes` of bodies, of which it may tell.
    func sent(_ bytes: Int) { count.grant(bytes / 512 + 1) }
}

/// How many more small frames a client may send.
struct HTTP2FrameCount {
    /// What a connection begins with, and never has more of.
    static let most = 20_000
    /// A frame of a body is paid for by so many bytes in it.
    static let worth = 64

    private var left = most
    /// Bytes up to the next frame's head: at first what every client begins with.
    ///
    /// RFC 9113 §3.4.
    private var skipped = 24
    /// Bytes of a frame's head that have come.
    private var position = 0
    private var length = 0
    private var type: UInt8 = 0

    /// More came than one client can need.
    var isExhausted: Bool { left < 0 }

    mutating func grant(_ frames: Int) {
        if !isExhausted { left = min(left + frames, Self.most) }
    }

    /// Counts the frames that begin in `bytes`.
    ///
    /// RFC 9113 §4.1.
    mutating func read(_ bytes: UnsafeRawBufferPointer) {
        var index = 0
        while index < bytes.count {
            let rest = min(skipped, bytes.count - index)
            skipped -= rest
            index += rest
            guard index < bytes.count else { return }
            let byte = unsafe bytes[index]
            if position < 3 { length = length << 8 | Int(byte) } else if position == 3 { type = byte }
            position += 1
            index += 1
            if position == 9 { endOfHead() }
        }
    }

    private mutating func endOfHead() {
        switch type {
        case 0: grant(length / Self.worth - 1)
        // A request and what it continues with are bounded elsewhere; a small body may belong to it.
        case 1: grant(4)
        case 9: break
        default: left -= 1
        }
        skipped = length
        position = 0
        length = 0
    }
}
