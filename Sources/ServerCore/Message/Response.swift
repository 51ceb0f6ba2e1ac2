public import DirectoryRoot

/// A response.
///
/// `Date`, `Content-Length` or `Transfer-Encoding`, `Connection` and the security fields are set by the connection.
public struct Response: Sendable {
    /// The status: 200 to 599.
    public var status: Status
    /// The fields, except those that the connection sets.
    public var fields: ResponseFields
    /// The body; not sent in response to a HEAD, though its length is announced.
    public var body: Body

    /// Creates a response.
    /// - Parameters:
    ///   - status: its status.
    ///   - fields: its fields.
    ///   - body: its body.
    public init(_ status: Status, fields: ResponseFields = [:], body: Body = .empty) {
        self.status = status
        self.fields = fields
        self.body = body
    }

    /// Short plain text, for a person.
    ///
    /// - Parameters:
    ///   - status: any but 204 and 304, which have no body.
    ///   - message: one or more lines; a final newline is added.
    /// - Returns: the response.
    public static func text(_ status: Status, _ message: String) -> Response {
        var bytes = Array(message.utf8)
        bytes.append(UInt8(ascii: "\n"))
        var fields: ResponseFields = ["Content-Type": "text/plain; charset=utf-8"]
        // A cache may store a 404 or 405 without explicit instructions, and answer with it when the file exists. RFC
        // 9110 §15.1
        if status.code >= 400 { fields["Cache-Control"] = "no-cache" }
        return Response(status, fields: fields, body: .bytes(bytes))
    }

    /// Whether HTTP can express it.
    var isSound: Bool { 200..<600 ~= status.code && body.isSound }

    /// The body of a response.
    public enum Body: Sendable {
        /// Nothing.
        case empty
        /// Bytes in memory.
        case bytes([UInt8])
        /// A half-open span of an open file, not before its beginning; sent by `sendfile` if the connection can.
        case file(Entry, Range<Int64>)
        /// Written while it is produced; chunked when `length` is nil. When the writer throws or writes another number
        /// of bytes, the connection ends without a valid end of the body, so that nobody takes the part for the whole.
        case stream(length: Int64?, @Sendable (BodyWriter) async throws -> Void)

        /// The number of bytes; nil if only the writer determines it.
        var length: Int64? {
            switch self {
            case .empty: 0
            case .bytes(let bytes): Int64(bytes.count)
            // A handler may have given any two numbers.
            case .file(_, let range): range.upperBound &- range.lowerBound
            case .stream(let announced, _): announced
            }
        }

        /// Whether it is written while it is sent.
        var isStream: Bool { if case .stream = self { true } else { false } }

        /// Whether its length is a number of bytes at all.
        fileprivate var isSound: Bool {
            switch self {
            case .empty, .bytes: true
            case .file(_, let range): range.lowerBound >= 0
            case .stream(let announced, _): announced.map { $0 >= 0 } ?? true
            }
        }
    }
}

/// The destination of a streamed body.
public struct BodyWriter: Sendable {
    let sink: BodySink

    /// Returns when the connection can accept more.
    /// - Throws: `CancellationError` when nobody reads any more.
    public func write(_ bytes: [UInt8]) async throws {
        guard !bytes.isEmpty else { return }
        try await sink.write(.bytes(bytes))
    }

    /// Sends a span of an open file.
    ///
    /// - Parameters:
    ///   - entry: an open file.
    ///   - range: a half-open span within it.
    /// - Throws: `CancellationError` when nobody reads any more; ``HTTPError`` for a span before the file's beginning.
    public func write(_ entry: Entry, _ range: Range<Int64>) async throws {
        guard !range.isEmpty else { return }
        guard range.lowerBound >= 0 else {
            throw HTTPError(.internalServerError, "a span of a file begins before the file")
        }
        try await sink.write(.file(entry, range))
    }
}
