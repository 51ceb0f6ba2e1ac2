/// Well-formed UTF-8 that XML 1.0 can carry.
enum UTF8Sequence {
    /// The length, 2 to 4, of the sequence that begins at `index` with a byte of 0x80 or more; 0 when it is ill-formed,
    /// overlong, a surrogate, or U+FFFE or U+FFFF.
    static func length(in text: UnsafeBufferPointer<UInt8>, at index: Int) -> Int {
        let left = text.count - index
        let first = unsafe text[index]
        switch first {
        case 0xC2...0xDF:
            return unsafe left >= 2 && isContinuation(text[index + 1]) ? 2 : 0
        case 0xE0...0xEF:
            guard left >= 3, unsafe isContinuation(text[index + 1]), unsafe isContinuation(text[index + 2]) else {
                return 0
            }
            let second = unsafe text[index + 1]
            if first == 0xE0, second < 0xA0 { return 0 }
            if first == 0xED, second > 0x9F { return 0 }
            if first == 0xEF, second == 0xBF, unsafe text[index + 2] >= 0xBE { return 0 }
            return 3
        case 0xF0...0xF4:
            guard left >= 4, unsafe isContinuation(text[index + 1]), unsafe isContinuation(text[index + 2]),
                unsafe isContinuation(text[index + 3])
            else { return 0 }
            if first == 0xF0, unsafe text[index + 1] < 0x90 { return 0 }
            if first == 0xF4, unsafe text[index + 1] > 0x8F { return 0 }
            return 4
        default: return 0
        }
    }

    @inline(__always)
    private static func isContinuation(_ byte: UInt8) -> Bool { byte & 0xC0 == 0x80 }
}
