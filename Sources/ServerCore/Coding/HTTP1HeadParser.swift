#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// Parses the heads of successive HTTP/1 requests, strictly: whatever two parsers might understand differently is
/// refused, and the connection that sent it must be closed.
///
/// RFC 9112 §2 to §6.
///
/// Works line by line on bytes that arrive in pieces, examines no byte twice except those of an unfinished line, and
/// allocates nothing beyond the buffers that its ``RequestHead`` keeps.
package struct HTTP1HeadParser {
    /// The limits on the size of a head.
    package struct Limits: Sendable {
        let headBytes: Int
        let fieldCount: Int
        let targetBytes: Int

        /// Takes them from a server's limits.
        package init(_ limits: ServerCore.Limits = ServerCore.Limits()) {
            headBytes = limits.headBytes
            fieldCount = limits.fieldCount
            targetBytes = limits.targetBytes
        }
    }

    private let limits: Limits
    /// Where the next unread line begins, from the start of the head.
    private var lineStart = 0
    /// How far the unfinished line was searched for its end.
    private var searched = 0
    private var hasRequestLine = false
    /// The number of empty lines before the request line.
    private var skipped = 0

    /// The most empty lines that are tolerated.
    private static let maxSkipped = 8

    package init(limits: Limits = Limits()) {
        self.limits = limits
    }

    /// Whether some bytes of a head were already seen.
    package var isInside: Bool { hasRequestLine || searched > 0 || lineStart > 0 }

    /// Continues to parse.
    ///
    /// - Parameters:
    ///   - bytes: all bytes since the end of the last head, including those of earlier calls.
    ///   - head: empty before the first call for a head; complete when a count is returned.
    /// - Returns: the length of the head; nil when more bytes are needed.
    /// - Throws: ``HTTPError`` with the status for the refusal; nothing after this head may be parsed as a request.
    package mutating func parse(_ bytes: UnsafeRawBufferPointer, into head: RequestHead) throws(HTTPError) -> Int? {
        while true {
            guard let end = unsafe lineEnd(in: bytes) else {
                try unsafe checkUnfinished(bytes)
                return nil
            }
            guard end > lineStart, unsafe bytes[end - 1] == 0x0D else { throw Self.bareLineEnd }
            guard end < limits.headBytes else { throw tooLarge }
            let line = lineStart..<(end - 1)
            lineStart = end + 1
            searched = lineStart
            if !hasRequestLine {
                if line.isEmpty {
                    // RFC 9112 §2.2: empty lines before a request are an error of old clients.
                    skipped += 1
                    guard skipped <= Self.maxSkipped else { throw Self.malformed }
                    continue
                }
                try unsafe readRequestLine(bytes, line, into: head)
                hasRequestLine = true
            } else if line.isEmpty {
                let count = lineStart
                self = HTTP1HeadParser(limits: limits)
                unsafe head.bytes.append(contentsOf: UnsafeRawBufferPointer(rebasing: bytes[0..<count]))
                try head.settle()
                return count
            } else {
                guard head.slots.count < limits.fieldCount else { throw tooLarge }
                try unsafe readField(bytes, line, into: head)
            }
        }
    }

    private func lineEnd(in bytes: UnsafeRawBufferPointer) -> Int? {
        guard searched < bytes.count, let base = bytes.baseAddress else { return nil }
        guard let found = unsafe memchr(base + searched, 0x0A, bytes.count - searched) else { return nil }
        return unsafe UnsafeRawPointer(found) - base
    }

    /// Checks a line whose end has not arrived: a client that will never send it gets its error now.
    private mutating func checkUnfinished(_ bytes: UnsafeRawBufferPointer) throws(HTTPError) {
        if !hasRequestLine, lineStart < bytes.count {
            let lead = unsafe bytes[lineStart]
            guard ASCII.isToken(lead) || lead == 0x0D else { throw Self.malformed }
        }
        // A CR that is not the last byte is followed by something other than LF.
        var index = max(searched - 1, lineStart)
        while index + 1 < bytes.count {
            if unsafe bytes[index] == 0x0D { throw Self.bareLineEnd }
            index += 1
        }
        searched = bytes.count
        if bytes.count >= limits.headBytes || (!hasRequestLine && bytes.count - lineStart > limits.targetBytes + 64) {
            throw tooLarge
        }
    }

    private var tooLarge: HTTPError { hasRequestLine ? .headTooLarge : .addressTooLong }

    private static var bareLineEnd: HTTPError {
        HTTPError(.badRequest, "Lines of a request end in CR LF, and neither stands alone.")
    }

    private static var malformed: HTTPError { HTTPError(.badRequest, "This is not an HTTP/1.1 request.") }

    // MARK: - The request line. RFC 9112 §3

    private func readRequestLine(
        _ bytes: UnsafeRawBufferPointer, _ line: Range<Int>, into head: RequestHead
    ) throws(HTTPError) {
        var index = line.lowerBound
        while index < line.upperBound, unsafe ASCII.isToken(bytes[index]) { index += 1 }
        guard index > line.lowerBound, index < line.upperBound, unsafe bytes[index] == 0x20 else {
            throw Self.malformed
        }
        head.methodRange = line.lowerBound..<index
        let targetStart = index + 1
        index = targetStart
        while index < line.upperBound, unsafe bytes[index] > 0x20, unsafe bytes[index] != 0x7F { index += 1 }
        guard index - targetStart <= limits.targetBytes else {
            throw HTTPError.addressTooLong
        }
        guard index > targetStart, index < line.upperBound, unsafe bytes[index] == 0x20 else { throw Self.malformed }
        head.targetRange = targetStart..<index
        try unsafe readVersion(bytes, (index + 1)..<line.upperBound, into: head)
    }

    private func readVersion(
        _ bytes: UnsafeRawBufferPointer, _ range: Range<Int>, into head: RequestHead
    ) throws(HTTPError) {
        let start = range.lowerBound
        guard range.count == 8, unsafe bytes[start] == UInt8(ascii: "H"), unsafe bytes[start + 1] == UInt8(ascii: "T"),
            unsafe bytes[start + 2] == UInt8(ascii: "T"), unsafe bytes[start + 3] == UInt8(ascii: "P"),
            unsafe bytes[start + 4] == UInt8(ascii: "/"), unsafe ASCII.isDigit(bytes[start + 5]),
            unsafe bytes[start + 6] == UInt8(ascii: "."), unsafe ASCII.isDigit(bytes[start + 7])
        else { throw Self.malformed }
        guard unsafe bytes[start + 5] == UInt8(ascii: "1") else {
            throw HTTPError(.httpVersionNotSupported, "This server speaks HTTP/1.1 and HTTP/1.0 here.")
        }
        // A later minor version is treated as the latest known one. RFC 9110 §2.5.
        head.minorVersion = unsafe bytes[start + 7] == UInt8(ascii: "0") ? 0 : 1
    }

    // MARK: - Fields. RFC 9112 §5

    private func readField(
        _ bytes: UnsafeRawBufferPointer, _ line: Range<Int>, into head: RequestHead
    ) throws(HTTPError) {
        var index = line.lowerBound
        while index < line.upperBound, unsafe ASCII.isToken(bytes[index]) { index += 1 }
        // Refuses a folded line, a blank before the colon, an empty name and a line without a colon.
        guard index > line.lowerBound, index < line.upperBound, unsafe bytes[index] == UInt8(ascii: ":") else {
            throw HTTPError(.badRequest, "A header field of this request is malformed.")
        }
        let name = line.lowerBound..<index
        var start = index + 1
        var end = line.upperBound
        while start < end, unsafe ASCII.isBlank(bytes[start]) { start += 1 }
        while end > start, unsafe ASCII.isBlank(bytes[end - 1]) { end -= 1 }
        index = start
        while index < end {
            let byte = unsafe bytes[index]
            guard (byte >= 0x20 && byte != 0x7F) || byte == 0x09 else {
                throw HTTPError(.badRequest, "A header field of this request holds a control character.")
            }
            index += 1
        }
        unsafe head.add(
            FieldSlot(
                nameStart: UInt32(truncatingIfNeeded: name.lowerBound),
                nameCount: UInt32(truncatingIfNeeded: name.count), valueStart: UInt32(truncatingIfNeeded: start),
                valueCount: UInt32(truncatingIfNeeded: end - start),
                known: KnownField.named(UnsafeRawBufferPointer(rebasing: bytes[name]))))
    }
}
