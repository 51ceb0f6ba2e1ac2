import NIOCore

/// Sees what an HTTP/2 client sends before the frame layer does, and ends a connection of frames that bring next to
/// nothing, or that the frame layer does not survive.
///
/// The frame layer bounds what waits for a reader in bytes of bodies, and a frame with one byte takes a hundred of
/// memory; frames that open windows by a byte cost time and nothing else.
///
/// A client that makes its windows smaller within a request may leave one of them less than nothing, and the frame layer
/// traps when the empty frame that ends an answer is due there. Who does it between requests is served.
final class HTTP2FrameMeter: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private var count = HTTP2FrameCount()
    private let connection: HTTP2Connection

    init(_ connection: HTTP2Connection) { self.connection = connection }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !count.isExhausted else { return }
        if connection.isIdle { count.restBegins() }
        unsafe unwrapInboundIn(data).withUnsafeReadableBytes { bytes in unsafe count.read(bytes) }
        guard !count.isExhausted else { return connection.breakOff() }
        context.fireChannelRead(data)
    }

    /// A second has passed.
    func secondPassed() { count.grant(1_000) }

    /// The client took `bytes` of bodies, of which it may tell.
    func sent(_ bytes: Int) { count.grant(bytes / 512 + 1) }
}

/// How many more small frames a client may send, and whether its windows still are what its requests began with.
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
    /// Requests have begun that may still go on.
    private var hasBegun = false
    /// What the client said last of how large a stream's window is at first.
    ///
    /// RFC 9113 §6.5.2.
    private var window: UInt64 = 65_535
    /// Of one setting: how many bytes have come, and what they say.
    private var settingBytes = 0
    private var setting: UInt64 = 0

    /// More came than one client can need, or what none needs.
    var isExhausted: Bool { left < 0 }

    /// All requests that had begun are over.
    mutating func restBegins() { hasBegun = false }

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
            if type == 4 { for offset in index..<(index + rest) { unsafe takeSetting(bytes[offset]) } }
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
        case 1:
            grant(4)
            hasBegun = true
        case 9: break
        default: left -= 1
        }
        skipped = length
        position = 0
        length = 0
        settingBytes = 0
        setting = 0
    }

    /// Takes a byte of the settings: each is two of its number, and four of its value.
    ///
    /// RFC 9113 §6.5.1.
    private mutating func takeSetting(_ byte: UInt8) {
        setting = setting << 8 | UInt64(byte)
        settingBytes += 1
        guard settingBytes == 6 else { return }
        if setting >> 32 == 4 {
            let value = setting & 0xFFFF_FFFF
            if value < window, hasBegun { left = -1 }
            window = value
        }
        settingBytes = 0
        setting = 0
    }
}
