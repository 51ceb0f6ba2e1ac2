/// Finds well-formed UTF-8 sequences in arbitrary bytes.
///
/// Unicode 16, table 3-7.
package enum UTF8Scan {
    /// Examines one character beyond ASCII.
    /// - Parameters:
    ///   - bytes: the text.
    ///   - index: where in it the character may begin.
    /// - Returns: the length of the well-formed sequence of two to four bytes that begins there; 0 when there is none.
    package static func sequenceLength(_ bytes: UnsafeBufferPointer<UInt8>, at index: Int) -> Int {
        let first = unsafe bytes[index]
        let length: Int
        var second: ClosedRange<UInt8> = 0x80...0xBF
        switch first {
        case 0xC2...0xDF: length = 2
        case 0xE0: (length, second) = (3, 0xA0...0xBF)
        case 0xED: (length, second) = (3, 0x80...0x9F)
        case 0xE1...0xEF: length = 3
        case 0xF0: (length, second) = (4, 0x90...0xBF)
        case 0xF4: (length, second) = (4, 0x80...0x8F)
        case 0xF1...0xF3: length = 4
        default: return 0
        }
        guard bytes.count - index >= length, unsafe second.contains(bytes[index + 1]) else { return 0 }
        for offset in 2..<max(2, length) where unsafe bytes[index + offset] & 0xC0 != 0x80 { return 0 }
        return length
    }

    /// Whether all the bytes are well-formed UTF-8.
    package static func isValid(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        var index = 0
        while index < bytes.count {
            if unsafe bytes[index] < 0x80 {
                index += 1
                continue
            }
            let length = unsafe sequenceLength(bytes, at: index)
            guard length > 0 else { return false }
            index += length
        }
        return true
    }

    /// Whether all the bytes are well-formed UTF-8.
    package static func isValid(_ bytes: [UInt8]) -> Bool {
        unsafe bytes.withUnsafeBufferPointer { unsafe isValid($0) }
    }
}
