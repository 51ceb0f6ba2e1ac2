/// Takes a chunked body apart, strictly and in any packet boundaries.
///
/// RFC 9112 §7.1.
///
/// Extensions and trailers are checked, bounded and dropped.
package struct HTTP1ChunkDecoder: Sendable {
    private enum State {
        case size
        case extensionName
        case extensionValue
        case extensionToken
        case extensionQuoted
        case extensionEscape
        case extensionEnd
        case sizeLineFeed
        case data
        case dataReturn
        case dataLineFeed
        case lineStart
        case fieldName
        case fieldValue
        case fieldLineFeed
        case lastLineFeed
        case done
    }

    /// Bytes of one chunk's size line.
    private static let maxLine = 1_024
    /// Bytes of all extensions of a body, so that they cannot be the greater part of it.
    private static let maxExtensions = 64 * 1_024
    /// Bytes of the trailer section.
    private static let maxTrailers = 16 * 1_024

    private var state = State.size
    private var digits = 0
    private var remaining: Int64 = 0
    private var lineBytes = 0
    private var extensionBytes = 0
    private var trailerBytes = 0
    private var nameBytes = 0

    package init() {}

    /// Whether the body and its trailers are complete.
    package var isDone: Bool { state == .done }

    /// Reads on to the next piece of data.
    ///
    /// - Parameters:
    ///   - bytes: what came.
    ///   - index: where to begin; afterwards, behind the last byte that was read.
    /// - Returns: where data lies; nil when `bytes` are used up, or the body is complete (``isDone``).
    /// - Throws: ``HTTPError`` 400; the connection is of no use afterwards.
    package mutating func next(
        _ bytes: UnsafeRawBufferPointer, from index: inout Int
    ) throws(HTTPError) -> Range<Int>? {
        while index < bytes.count, state != .done {
            if state == .data {
                let count = Int(min(Int64(bytes.count - index), remaining))
                let span = index..<(index + count)
                index += count
                remaining -= Int64(count)
                if remaining == 0 { state = .dataReturn }
                return span
            }
            try unsafe step(bytes[index])
            index += 1
        }
        return nil
    }

    private mutating func step(_ byte: UInt8) throws(HTTPError) {
        switch state {
        case .size: try size(byte)
        case .extensionName, .extensionValue, .extensionToken, .extensionQuoted, .extensionEscape, .extensionEnd:
            try chunkExtension(byte)
        case .sizeLineFeed: try endOfSizeLine(byte)
        case .dataReturn: try expect(byte, 0x0D, then: .dataLineFeed)
        case .dataLineFeed:
            try expect(byte, 0x0A, then: .size)
            digits = 0
            lineBytes = 0
        case .lineStart, .fieldName, .fieldValue, .fieldLineFeed: try trailer(byte)
        case .lastLineFeed: try expect(byte, 0x0A, then: .done)
        case .data, .done: break
        }
    }

    static var malformed: HTTPError { HTTPError(.badRequest, "The chunks of this body are malformed.") }

    private mutating func expect(_ byte: UInt8, _ wanted: UInt8, then next: State) throws(HTTPError) {
        guard byte == wanted else { throw Self.malformed }
        state = next
    }

    private mutating func size(_ byte: UInt8) throws(HTTPError) {
        if let digit = ASCII.hexValue(byte) {
            // Sixteen digits at most, leading zeros included; the top one must leave the sign alone.
            guard digits < 16, remaining <= Int64.max >> 4 else { throw Self.malformed }
            remaining = remaining << 4 | Int64(digit)
            digits += 1
        } else if digits > 0, byte == 0x0D {
            state = .sizeLineFeed
        } else if digits > 0, byte == UInt8(ascii: ";") {
            state = .extensionName
            nameBytes = 0
        } else {
            throw Self.malformed
        }
    }

    private mutating func endOfSizeLine(_ byte: UInt8) throws(HTTPError) {
        try expect(byte, 0x0A, then: remaining == 0 ? .lineStart : .data)
        if remaining == 0 { nameBytes = 0 }
    }

    /// `;name`, `;name=token`, `;name="quoted"`, without blanks anywhere.
    ///
    /// RFC 9112 §7.1.1.
    private mutating func chunkExtension(_ byte: UInt8) throws(HTTPError) {
        lineBytes += 1
        extensionBytes += 1
        guard lineBytes <= Self.maxLine, extensionBytes <= Self.maxExtensions else { throw Self.malformed }
        switch state {
        case .extensionName:
            if ASCII.isToken(byte) {
                nameBytes += 1
            } else if nameBytes > 0, byte == UInt8(ascii: "=") {
                state = .extensionValue
            } else if nameBytes > 0 {
                try endOfExtension(byte)
            } else {
                throw Self.malformed
            }
        case .extensionValue:
            if byte == UInt8(ascii: "\"") {
                state = .extensionQuoted
            } else if ASCII.isToken(byte) {
                state = .extensionToken
            } else {
                throw Self.malformed
            }
        case .extensionToken:
            if !ASCII.isToken(byte) { try endOfExtension(byte) }
        case .extensionQuoted:
            if byte == UInt8(ascii: "\"") {
                state = .extensionEnd
            } else if byte == UInt8(ascii: "\\") {
                state = .extensionEscape
            } else if !Self.isText(byte) {
                throw Self.malformed
            }
        case .extensionEscape:
            guard Self.isText(byte) else { throw Self.malformed }
            state = .extensionQuoted
        default: try endOfExtension(byte)
        }
    }

    private mutating func endOfExtension(_ byte: UInt8) throws(HTTPError) {
        if byte == UInt8(ascii: ";") {
            state = .extensionName
            nameBytes = 0
        } else {
            try expect(byte, 0x0D, then: .sizeLineFeed)
        }
    }

    private mutating func trailer(_ byte: UInt8) throws(HTTPError) {
        trailerBytes += 1
        guard trailerBytes <= Self.maxTrailers else {
            throw HTTPError(.headerFieldsTooLarge, "The trailers of this body are larger than the server takes.")
        }
        switch state {
        case .lineStart:
            if byte == 0x0D {
                state = .lastLineFeed
            } else if ASCII.isToken(byte) {
                state = .fieldName
            } else {
                throw Self.malformed
            }
        case .fieldName:
            if byte == UInt8(ascii: ":") {
                state = .fieldValue
            } else if !ASCII.isToken(byte) {
                throw Self.malformed
            }
        case .fieldValue:
            if byte == 0x0D {
                state = .fieldLineFeed
            } else if !Self.isText(byte) {
                throw Self.malformed
            }
        default: try expect(byte, 0x0A, then: .lineStart)
        }
    }

    private static func isText(_ byte: UInt8) -> Bool {
        (byte >= 0x20 && byte != 0x7F) || byte == 0x09
    }
}
