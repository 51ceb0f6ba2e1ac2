/// Decodes a chunked body, strictly, whatever the packet boundaries.
///
/// RFC 9112 §7.1.
///
/// Extensions and trailers are checked, limited and dropped.
package struct HTTP1ChunkDecoder: Sendable {
    private enum State {
        case size
        case extensionStart
        case extensionName
        case extensionEquals
        case extensionValue
        case extensionToken
        case extensionQuoted
        case extensionEscape
        case extensionEnd
        case extensionNext
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

    /// The most bytes of one chunk's size line.
    private static let maxLine = 1_024
    /// The most bytes of all extensions of a body, so that they can't make up most of it.
    private static let maxExtensions = 64 * 1_024
    /// The most bytes of the trailer section.
    private static let maxTrailers = 16 * 1_024

    private var state = State.size
    private var digits = 0
    private var remaining: Int64 = 0
    private var lineBytes = 0
    private var extensionBytes = 0
    private var trailerBytes = 0

    package init() {}

    /// Whether the body and its trailers are complete.
    package var isDone: Bool { state == .done }

    /// Decodes up to the next piece of data.
    ///
    /// - Parameters:
    ///   - bytes: received bytes.
    ///   - index: where to begin; afterwards, just after the last byte that was read.
    /// - Returns: the range of the data; nil when `bytes` are used up, or the body is complete (``isDone``).
    /// - Throws: ``HTTPError`` 400; the connection can't be used afterwards.
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
        case .extensionStart, .extensionName, .extensionEquals, .extensionValue, .extensionToken, .extensionQuoted,
            .extensionEscape, .extensionEnd, .extensionNext:
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
            // At most sixteen digits, including leading zeros; the result must not be negative.
            guard digits < 16, remaining <= Int64.max >> 4 else { throw Self.malformed }
            remaining = remaining << 4 | Int64(digit)
            digits += 1
        } else if digits > 0 {
            try endOfExtension(byte)
        } else {
            throw Self.malformed
        }
    }

    private mutating func endOfSizeLine(_ byte: UInt8) throws(HTTPError) {
        try expect(byte, 0x0A, then: remaining == 0 ? .lineStart : .data)
    }

    /// `;name`, `;name=token`, `;name="quoted"`, with blanks only around `;` and `=`, and not before the end of the
    /// line.
    ///
    /// RFC 9112 §7.1.1.
    private mutating func chunkExtension(_ byte: UInt8) throws(HTTPError) {
        lineBytes += 1
        extensionBytes += 1
        guard lineBytes <= Self.maxLine, extensionBytes <= Self.maxExtensions else { throw Self.malformed }
        switch state {
        case .extensionStart:
            if ASCII.isToken(byte) {
                state = .extensionName
            } else if !ASCII.isBlank(byte) {
                throw Self.malformed
            }
        case .extensionName:
            if !ASCII.isToken(byte) { try endOfExtensionName(byte) }
        case .extensionEquals:
            guard byte != 0x0D else { throw Self.malformed }
            try endOfExtensionName(byte)
        case .extensionValue:
            if byte == UInt8(ascii: "\"") {
                state = .extensionQuoted
            } else if ASCII.isToken(byte) {
                state = .extensionToken
            } else if !ASCII.isBlank(byte) {
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
        case .extensionNext:
            guard byte != 0x0D else { throw Self.malformed }
            try endOfExtension(byte)
        default: try endOfExtension(byte)
        }
    }

    private mutating func endOfExtensionName(_ byte: UInt8) throws(HTTPError) {
        if byte == UInt8(ascii: "=") {
            state = .extensionValue
        } else if ASCII.isBlank(byte) {
            state = .extensionEquals
        } else {
            try endOfExtension(byte)
        }
    }

    /// Accepts what may follow a size or a complete extension: blanks only if another extension follows them.
    private mutating func endOfExtension(_ byte: UInt8) throws(HTTPError) {
        if byte == UInt8(ascii: ";") {
            state = .extensionStart
        } else if ASCII.isBlank(byte) {
            state = .extensionNext
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
