/// Counts how many more small frames a client may send, and detects settings that shrink its windows.
struct HTTP2FrameCount {
    /// The budget that a connection begins with, and its maximum.
    static let most = 20_000
    /// How many bytes of a body pay for the frame that they are in.
    static let worth = 64

    /// Of frames, besides their ``HTTP2FrameType``.
    private enum Frame {
        /// The type while none has been read.
        static let none: UInt8 = 0xFF
        /// The size of a frame header in bytes.
        ///
        /// RFC 9113 §4.1.
        static let head = 9
        /// The flag of the last frame of a field section.
        static let endHeaders: UInt8 = 0x4
        /// The flag of a DATA frame with padding.
        static let padded: UInt8 = 0x8
    }

    /// The size of the connection preface in bytes.
    ///
    /// RFC 9113 §3.4.
    private static let preface = 24
    /// The identifier of SETTINGS_INITIAL_WINDOW_SIZE.
    ///
    /// RFC 9113 §6.5.2.
    private static let initialWindowSize: UInt64 = 4

    private var left = most
    /// How many bytes to skip up to the next frame header.
    private var skipped = preface
    /// How many bytes of a frame header were received.
    private var position = 0
    private var length = 0
    private var type = Frame.none
    private var flags: UInt8 = 0
    /// The size of the current frame, including its header.
    private var size = preface
    /// The total size of the frames of the field section that is being received, as far as they have begun.
    private var fields = preface
    private var isLastOfFields = true
    /// How many requests have begun.
    private(set) var requests = 0
    /// How many frames have begun.
    private(set) var frames = 0
    /// Whether a request begins in the bytes that are read, or before them in a frame that they complete.
    private var hasRequest = false
    /// The client's last SETTINGS_INITIAL_WINDOW_SIZE.
    ///
    /// RFC 9113 §6.5.2.
    private var window: UInt64 = 65_535
    /// Whether the settings that are being read shrink it.
    private var isSmaller = false
    /// For one setting: how many of its bytes were received, and their value.
    private var settingBytes = 0
    private var setting: UInt64 = 0

    /// Whether the last bytes contain the end of settings that shrink windows, and a request before it.
    enum Shrinking {
        case none
        case alone
        case behindRequest
    }

    private(set) var shrinking = Shrinking.none

    /// How many bytes at the end of the input can't be passed to the frame layer yet.
    ///
    /// They belong to an incomplete frame that is not a DATA frame without padding. Frames that are too large are
    /// passed on for the frame layer to refuse.
    var unfinished: Int {
        if position > 0 { return position }
        guard skipped > 0, size <= Self.largest else { return 0 }
        let isBody = type == HTTP2FrameType.data && flags & Frame.padded == 0
        return isBody && skipped < size - Frame.head ? 0 : size - skipped
    }

    /// Whether a request's field section, or the connection preface, is incomplete.
    var isWithinFields: Bool { !isLastOfFields || skipped > 0 && isOfFields }

    private var isOfFields: Bool {
        type == HTTP2FrameType.headers || type == HTTP2FrameType.continuation || type == Frame.none
    }

    /// How many bytes of an incomplete field section were received; what was merely announced costs nothing yet.
    var fieldBytes: Int { isWithinFields ? fields - (isOfFields ? skipped : 0) : 0 }

    /// The largest frame, as SwiftNIO announces to clients, with its header.
    ///
    /// RFC 9113 §6.5.2.
    private static let largest = 16_384 + Frame.head

    /// Whether more frames were received than one client can need.
    var isExhausted: Bool { left < 0 }

    /// Makes every further frame exceed the budget.
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
        // A request and its continuations are limited elsewhere; a small body may belong to it.
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

    /// Takes a byte of the settings: each has an identifier of two bytes and a value of four.
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
