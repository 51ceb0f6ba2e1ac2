import NIOCore

/// Sees what an HTTP/2 client sends before the frame layer does, and ends a connection of frames that bring next to
/// nothing, or that the frame layer does not survive.
///
/// The frame layer bounds what waits for a reader in bytes of bodies, and a frame with one byte takes a hundred of
/// memory; frames that open windows by a byte cost time and nothing else.
///
/// A client that makes its windows smaller may leave one of them less than nothing, as RFC 9113 §6.9.2 lets it, and the
/// frame layer traps when an empty frame is due there. Such frames end the answers whose length is not known before, so
/// that a connection ends when its windows shrink within one of these. All others are served.
final class HTTP2FrameMeter: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private var count = HTTP2FrameCount()
    private let connection: HTTP2Connection

    init(_ connection: HTTP2Connection) { self.connection = connection }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !count.isExhausted else { return }
        unsafe unwrapInboundIn(data).withUnsafeReadableBytes { bytes in unsafe count.read(bytes) }
        switch count.shrinking {
        case .none: break
        case .alone: if connection.hasEmptyEnds { count.exhaust() }
        // The frame layer may see both at once, and the answer begin in between.
        case .behindRequest: count.exhaust()
        }
        guard !count.isExhausted else { return connection.breakOff() }
        context.fireChannelRead(data)
    }

    /// A second has passed.
    func secondPassed() { count.grant(1_000) }

    /// The client took `bytes` of bodies, of which it may tell.
    func sent(_ bytes: Int) { count.grant(bytes / 512 + 1) }
}

/// How many more small frames a client may send, and whether it makes its windows smaller.
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
    /// A request begins in the bytes that are read, or a frame before them that they end.
    private var hasRequest = false
    /// What the client said last of how large a stream's window is at first.
    ///
    /// RFC 9113 §6.5.2.
    private var window: UInt64 = 65_535
    /// The settings that are being read make it smaller.
    private var isSmaller = false
    /// Of one setting: how many bytes have come, and what they say.
    private var settingBytes = 0
    private var setting: UInt64 = 0

    /// Whether the last bytes have the end of settings that make windows smaller, and a request before it.
    enum Shrinking {
        case none
        case alone
        case behindRequest
    }

    private(set) var shrinking = Shrinking.none

    /// More came than one client can need.
    var isExhausted: Bool { left < 0 }

    /// Has what comes be too much.
    mutating func exhaust() { left = -1 }

    mutating func grant(_ frames: Int) {
        if !isExhausted { left = min(left + frames, Self.most) }
    }

    /// Counts the frames that begin in `bytes`.
    ///
    /// RFC 9113 §4.1.
    mutating func read(_ bytes: UnsafeRawBufferPointer) {
        var index = 0
        shrinking = .none
        if skipped == 0, position == 0 { hasRequest = false }
        while index < bytes.count {
            let rest = min(skipped, bytes.count - index)
            if type == 4 { for offset in index..<(index + rest) { unsafe takeSetting(bytes[offset]) } }
            skipped -= rest
            index += rest
            if skipped == 0, isSmaller {
                isSmaller = false
                if shrinking != .behindRequest { shrinking = hasRequest ? .behindRequest : .alone }
            }
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
            hasRequest = true
        case 9: hasRequest = true
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
            if value < window { isSmaller = true }
            window = value
        }
        settingBytes = 0
        setting = 0
    }
}
