/// Parses `multipart/form-data` incrementally, whatever the packet boundaries.
///
/// RFC 7578, RFC 2046 §5.1.
///
/// Holds at most one part's header and the length of a boundary; contents are passed through.
package struct MultipartParser: Sendable {
    /// The header of one part.
    package struct Part: Equatable, Sendable {
        /// The name of the form field.
        package var name: [UInt8]
        /// The file name as sent, perhaps with directories; nil for a plain form field.
        package var filename: [UInt8]?
        /// As sent; nil without one.
        package var mediaType: String?
    }

    /// What was parsed, in order.
    package enum Event: Equatable, Sendable {
        /// A part begins.
        case part(Part)
        /// Some of its content; never empty.
        case data([UInt8])
        /// The part is complete.
        case partEnd
    }

    /// Limits on one body.
    package struct Limits: Sendable {
        /// The most parts in one body.
        package var parts = 20_000
        /// The most bytes of one part's header.
        package var headerBytes = 16_384
        /// The most bytes before the first boundary.
        package var preambleBytes = 65_536

        package init() {}
    }

    private enum State: Sendable {
        case preamble
        case header
        case content
        case epilogue
    }

    /// CR LF, two hyphens, and the boundary.
    private let delimiter: [UInt8]
    private let limits: Limits
    private var state = State.preamble
    /// Bytes not parsed yet.
    ///
    /// Begins with the CR LF that a boundary at the very start lacks.
    private var pending: [UInt8] = [0x0D, 0x0A]
    private var parts = 0
    private var skipped = 0

    /// Takes the boundary from a request's `Content-Type`.
    /// - Parameters:
    ///   - contentType: the value of `Content-Type`.
    ///   - limits: limits on the body.
    /// - Throws: ``HTTPError`` 415 for another type, 400 without a valid boundary.
    package init(contentType: String, limits: Limits = Limits()) throws(HTTPError) {
        let parameters = HeaderParameters(contentType.utf8)
        guard parameters.value.elementsEqual("multipart/form-data".utf8) else {
            throw HTTPError(.unsupportedMediaType, "Send a form as multipart/form-data.")
        }
        guard let boundary = parameters["boundary"], (1...200).contains(boundary.count),
            boundary.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }), boundary.last != 0x20
        else { throw HTTPError(.badRequest, "The form's boundary is missing or malformed.") }
        delimiter = Array("\r\n--".utf8) + boundary
        self.limits = limits
    }

    /// Continues to parse.
    /// - Parameter bytes: the next bytes of the body, any number of them.
    /// - Returns: what is certain by now.
    /// - Throws: ``HTTPError`` 400 when the body is malformed, 413 when it exceeds a limit; nothing more may be fed
    ///   then.
    package mutating func feed(_ bytes: [UInt8]) throws(HTTPError) -> [Event] {
        if pending.isEmpty { pending = bytes } else { pending.append(contentsOf: bytes) }
        var events: [Event] = []
        var start = 0
        while try step(&start, &events) {}
        pending.removeFirst(start)
        return events
    }

    /// Ends the body.
    /// - Throws: ``HTTPError`` 400 without the last boundary.
    package func finish() throws(HTTPError) {
        guard case .epilogue = state else {
            throw HTTPError(.badRequest, "The form ended before its last boundary; send it again.")
        }
    }

    /// Makes one step from `pending[start...]`; false when more bytes are needed.
    private mutating func step(_ start: inout Int, _ events: inout [Event]) throws(HTTPError) -> Bool {
        switch state {
        case .preamble, .content:
            let (count, boundary) = content(from: start)
            if case .content = state {
                if count > 0 { events.append(.data(Array(pending[start..<start + count]))) }
                if boundary != nil { events.append(.partEnd) }
            } else {
                skipped += count
                guard skipped <= limits.preambleBytes else { throw malformed("nothing but a preamble") }
            }
            start += count
            guard let boundary else { return false }
            start += boundary.count
            try beginPart(after: boundary)
            return true
        case .header: return try header(&start, &events)
        case .epilogue:
            start = pending.count
            return false
        }
    }

    private mutating func beginPart(after boundary: Boundary) throws(HTTPError) {
        guard !boundary.isLast else {
            state = .epilogue
            return
        }
        parts += 1
        guard parts <= limits.parts else {
            throw HTTPError(
                .contentTooLarge, "The form has too many parts; send at most \(limits.parts) files at once.")
        }
        state = .header
    }

    /// A complete boundary line, with the CR LF before it.
    private struct Boundary {
        var count: Int
        var isLast: Bool
    }

    /// How many bytes from `start` are certainly content, and the boundary that follows them.
    private func content(from start: Int) -> (count: Int, boundary: Boundary?) {
        var index = start
        while let found = pending[index...].firstIndex(of: 0x0D) {
            switch match(at: found) {
            case .boundary(let boundary): return (found - start, boundary)
            case .undecided: return (found - start, nil)
            case .content: index = found + 1
            }
        }
        return (pending.count - start, nil)
    }

    private enum Match {
        case content
        case undecided
        case boundary(Boundary)
    }

    /// Whether a boundary begins here: a line that merely begins like one is content.
    private func match(at index: Int) -> Match {
        let length = min(delimiter.count, pending.count - index)
        guard pending[index..<index + length].elementsEqual(delimiter[..<length]) else { return .content }
        let rest = pending[(index + length)...]
        guard length == delimiter.count, let first = rest.first else { return .undecided }
        if first == UInt8(ascii: "-") {
            guard let second = rest.dropFirst().first else { return .undecided }
            return second == first ? .boundary(Boundary(count: length + 2, isLast: true)) : .content
        }
        // Blanks are allowed between a boundary and its CR LF.
        let blanks = rest.prefix(257).prefix(while: ASCII.isBlank).count
        guard blanks <= 256 else { return .content }
        let end = rest.dropFirst(blanks).prefix(2)
        guard end.elementsEqual([0x0D, 0x0A].prefix(end.count)) else { return .content }
        return end.count == 2 ? .boundary(Boundary(count: length + blanks + 2, isLast: false)) : .undecided
    }

    private mutating func header(_ start: inout Int, _ events: inout [Event]) throws(HTTPError) -> Bool {
        var lines: [ArraySlice<UInt8>] = []
        var index = start
        while true {
            guard let end = pending[index...].firstIndex(of: 0x0A) else {
                guard pending.count - start <= limits.headerBytes else {
                    throw malformed("a part with too long a header")
                }
                return false
            }
            guard end - start <= limits.headerBytes else { throw malformed("a part with too long a header") }
            guard end > index, pending[end - 1] == 0x0D else { throw malformed("a header line without CR LF") }
            let line = pending[index..<end - 1]
            index = end + 1
            if line.isEmpty { break }
            lines.append(line)
        }
        start = index
        events.append(.part(try part(lines)))
        state = .content
        return true
    }

    private func part(_ lines: [ArraySlice<UInt8>]) throws(HTTPError) -> Part {
        var part = Part(name: [], filename: nil, mediaType: nil)
        for line in lines {
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon > line.startIndex,
                line[..<colon].allSatisfy(ASCII.isToken)
            else { throw malformed("a header line without a name") }
            let value = ASCII.trimmed(line[(colon + 1)...])
            if ASCII.equalIgnoringCase(line[..<colon], "content-disposition".utf8) {
                let parameters = HeaderParameters(value)
                part.name = parameters["name"].map(Self.unescaped) ?? []
                part.filename = parameters.extended("filename") ?? parameters["filename"].map(Self.unescaped)
            } else if ASCII.equalIgnoringCase(line[..<colon], "content-type".utf8) {
                part.mediaType = String(decoding: value, as: UTF8.self)
            }
        }
        return part
    }

    /// Browsers write a quote, CR and LF in a name as `%22`, `%0D` and `%0A`, and encode nothing else.
    ///
    /// WHATWG HTML §4.10.21.8.
    private static func unescaped(_ name: [UInt8]) -> [UInt8] {
        guard name.contains(UInt8(ascii: "%")) else { return name }
        var result: [UInt8] = []
        var rest = name[...]
        while let byte = rest.first {
            if rest.starts(with: "%22".utf8) || rest.starts(with: "%0D".utf8) || rest.starts(with: "%0A".utf8) {
                result.append(contentsOf: PercentCoding.decode(rest.prefix(3)) ?? [])
                rest = rest.dropFirst(3)
            } else {
                result.append(byte)
                rest = rest.dropFirst()
            }
        }
        return result
    }

    private func malformed(_ what: String) -> HTTPError {
        HTTPError(.badRequest, "The form is malformed: it has \(what).")
    }
}
