/// How many more small frames a client may send, and whether it makes its windows smaller.
struct HTTP2FrameCount {
    /// What a connection begins with, and never has more of.
    static let most = 20_000
    /// A frame of a body is paid for by so many bytes in it.
    static let worth = 64

    /// Of frames, besides their ``HTTP2FrameType``.
    private enum Frame {
        /// The type while none has been read.
        static let none: UInt8 = 0xFF
        /// Bytes of a frame's head.
        ///
        /// RFC 9113 §4.1.
        static let head = 9
        /// The flag of the last frame of a request's fields.
        static let endHeaders: UInt8 = 0x4
        /// The flag of a body's frame that has more in it than the body.
        static let padded: UInt8 = 0x8
    }

    /// What every client begins with, in bytes.
    ///
    /// RFC 9113 §3.4.
    private static let preface = 24
    /// The number of the setting of how large a stream's window is at first.
    ///
    /// RFC 9113 §6.5.2.
    private static let initialWindowSize: UInt64 = 4

    private var left = most
    /// Bytes up to the next frame's head.
    private var skipped = preface
    /// Bytes of a frame's head that have come.
    private var position = 0
    private var length = 0
    private var type = Frame.none
    private var flags: UInt8 = 0
    /// Of the frame that is being read: its head and all behind it.
    private var size = preface
    /// Of a request whose fields are on their way: what all their frames have that have begun.
    private var fields = preface
    private var isLastOfFields = true
    /// How many requests have begun.
    private(set) var requests = 0
    /// How many frames have begun.
    private(set) var frames = 0
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
    /// They are a frame whose end has not come, and which is not a body without padding. Frames that are too large go
    /// on for the frame layer to refuse.
    var unfinished: Int {
        if position > 0 { return position }
        guard skipped > 0, size <= Self.largest else { return 0 }
        let isBody = type == HTTP2FrameType.data && flags & Frame.padded == 0
        return isBody && skipped < size - Frame.head ? 0 : size - skipped
    }

    /// Whether a request's fields have not all come, or what every client begins with.
    var isWithinFields: Bool { !isLastOfFields || skipped > 0 && isOfFields }

    private var isOfFields: Bool {
        type == HTTP2FrameType.headers || type == HTTP2FrameType.continuation || type == Frame.none
    }

    /// Bytes that have come of a request whose fields have not all come; what was announced costs nothing yet.
    var fieldBytes: Int { isWithinFields ? fields - (isOfFields ? skipped : 0) : 0 }

    /// What a frame may have, as SwiftNIO tells clients, with its head.
    ///
    /// RFC 9113 §6.5.2.
    private static let largest = 16_384 + Frame.head

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
            if type == HTTP2FrameType.settings {
                for offset in index..<(index + rest) { unsafe takeSetting(bytes[offset]) }
            }
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
            if position == Frame.head { endOfHead() }
        }
    }

    private mutating func endOfHead() {
        frames &+= 1
        switch type {
        case HTTP2FrameType.data: grant(length / Self.worth - 1)
        // A request and what it continues with are bounded elsewhere; a small body may belong to it.
        case HTTP2FrameType.headers:
            grant(4)
            hasRequest = true
            requests += 1
            fields = length
            isLastOfFields = flags & Frame.endHeaders != 0
        case HTTP2FrameType.continuation:
            hasRequest = true
            fields += length
            isLastOfFields = flags & Frame.endHeaders != 0
        default: left -= 1
        }
        skipped = length
        size = Frame.head + length
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
        if setting >> 32 == Self.initialWindowSize {
            let value = setting & 0xFFFF_FFFF
            if value < window { isSmaller = true }
            window = value
        }
        settingBytes = 0
        setting = 0
    }
}
