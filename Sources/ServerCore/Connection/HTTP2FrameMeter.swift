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
///
/// Frames go on whole, bodies also in pieces. The frame layer keeps each byte that it was ever given of a connection
/// until one of its reads ends where a frame does: a client that saw to it that none did took as much memory as it sent,
/// and ended the process at 4 GiB.
final class HTTP2FrameMeter: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private var count = HTTP2FrameCount()
    /// The beginning of a frame whose end has not come.
    private var rest = ByteBuffer()
    /// The request whose fields were coming when the last second passed, and for how many seconds they have.
    private var slow = (request: 0, seconds: 0)
    private let connection: HTTP2Connection

    init(_ connection: HTTP2Connection) { self.connection = connection }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !count.isExhausted else { return }
        var bytes = unwrapInboundIn(data)
        unsafe bytes.withUnsafeReadableBytes { bytes in unsafe count.read(bytes) }
        switch count.shrinking {
        case .none: break
        case .alone: if connection.hasEmptyEnds { count.exhaust() }
        // The frame layer may see both at once, and the answer begin in between.
        case .behindRequest: count.exhaust()
        }
        if !connection.holdHead(max(count.fieldBytes, count.unfinished)) { count.exhaust() }
        guard !count.isExhausted else { return connection.breakOff() }
        if rest.readableBytes > 0 {
            rest.writeBuffer(&bytes)
            guard count.unfinished < rest.readableBytes else { return }
            swap(&rest, &bytes)
        }
        rest = ByteBuffer()
        if count.unfinished > 0 {
            rest = context.channel.allocator.buffer(capacity: count.unfinished)
            let start = bytes.writerIndex - count.unfinished
            rest.writeBytes(bytes.viewBytes(at: start, length: count.unfinished) ?? ByteBufferView())
            bytes.moveWriterIndex(to: start)
        }
        if bytes.readableBytes > 0 { context.fireChannelRead(wrapInboundOut(bytes)) }
    }

    /// A second has passed.
    /// - Returns: for how many the fields of one request have been on their way.
    func secondPassed() -> Int {
        count.grant(1_000)
        let isSame = count.fieldBytes > 0 && slow.request == count.requests
        slow = (count.requests, isSame ? slow.seconds + 1 : 0)
        return slow.seconds
    }

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
    private var type: UInt8 = 0xFF
    private var flags: UInt8 = 0
    /// Of the frame that is being read: its head and all behind it.
    private var size = 24
    /// Of a request whose fields are on their way: all their frames that have begun.
    private var fields = 24
    private var isLastOfFields = true
    /// How many requests have begun.
    private(set) var requests = 0
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

    /// Bytes at the end of what was read that can't go on to the frame layer yet.
    ///
    /// They are a frame whose end has not come, and which is not a body without padding. Frames that are too large go on
    /// for the frame layer to refuse.
    var unfinished: Int {
        if position > 0 { return position }
        guard skipped > 0, size <= Self.largest else { return 0 }
        let isBody = type == 0 && flags & 0x8 == 0
        return isBody && skipped < size - 9 ? 0 : size - skipped
    }

    /// Bytes of a request whose fields have not all come, or of what every client begins with; 0 when there is none.
    var fieldBytes: Int {
        let isRead = isLastOfFields && (skipped == 0 || type != 1 && type != 9 && type != 0xFF)
        return isRead ? 0 : fields
    }

    /// What a frame may have, as SwiftNIO tells clients, with its head.
    ///
    /// RFC 9113 §6.5.2.
    private static let largest = 16_384 + 9

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
            switch position {
            case 0...2: length = length << 8 | Int(byte)
            case 3: type = byte
            case 4: flags = byte
            default: break
            }
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
            requests += 1
            fields = length
            isLastOfFields = flags & 0x4 != 0
        case 9:
            hasRequest = true
            fields += length
            isLastOfFields = flags & 0x4 != 0
        default: left -= 1
        }
        skipped = length
        size = 9 + length
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
