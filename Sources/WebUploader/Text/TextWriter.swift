import DirectoryRoot
import ServerCore

/// Collects the bytes of a response: JSON, HTML or plain text, each value escaped as it is written.
///
/// Names stay bytes from the disk to here; they are never decoded.
struct TextWriter {
    /// What was written since the last ``take()``.
    private(set) var bytes: [UInt8] = []

    private let capacity: Int

    /// A writer that reserves `capacity` bytes.
    init(capacity: Int = 1024) {
        self.capacity = capacity
        bytes.reserveCapacity(capacity)
    }

    /// The number of bytes that wait to be taken.
    var count: Int { bytes.count }

    /// Returns what was written, and starts over.
    mutating func take() -> [UInt8] {
        let taken = bytes
        bytes = []
        bytes.reserveCapacity(capacity)
        return taken
    }

    /// Writes markup or punctuation of our own, unescaped.
    mutating func raw(_ text: StaticString) {
        unsafe bytes.append(contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    /// Writes bytes that are already encoded.
    mutating func raw(_ text: some Sequence<UInt8>) {
        bytes.append(contentsOf: text)
    }

    /// Writes one byte.
    mutating func byte(_ byte: UInt8) {
        bytes.append(byte)
    }

    /// Writes a quoted entity tag.
    mutating func entityTag(_ tag: EntityTag) {
        tag.write(to: &bytes)
    }

    /// Removes the last byte.
    mutating func dropLast() {
        bytes.removeLast()
    }

    /// Writes a decimal number.
    mutating func integer(_ value: Int64) {
        // Made on the stack, from its end, and appended in one go: at most 19 digits and a sign.
        unsafe withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 20) { digits in
            var magnitude = value.magnitude
            var start = digits.count
            repeat {
                start -= 1
                unsafe digits[start] = UInt8(truncatingIfNeeded: magnitude % 10) + 0x30
                magnitude /= 10
            } while magnitude > 0
            if value < 0 {
                start -= 1
                unsafe digits[start] = UInt8(ascii: "-")
            }
            unsafe bytes.append(contentsOf: digits[start...])
        }
    }

    /// Writes a decimal number with leading zeros up to `width` digits.
    mutating func integer(_ value: Int64, width: Int) {
        var digits = 1
        var rest = value.magnitude / 10
        while rest > 0 {
            digits += 1
            rest /= 10
        }
        while digits < width {
            bytes.append(0x30)
            digits += 1
        }
        integer(value)
    }
}

extension TextWriter {
    /// Writes a name or path percent-encoded: every byte except the unreserved ones and the slash.
    mutating func address(_ path: [UInt8]) {
        URICharacters.unreservedPath.append(path, to: &bytes)
    }

    /// Writes a byte as two hexadecimal digits, in lower case.
    mutating func hex(_ byte: UInt8) {
        bytes.append(Hex.digit(byte >> 4))
        bytes.append(Hex.digit(byte & 15))
    }
}
