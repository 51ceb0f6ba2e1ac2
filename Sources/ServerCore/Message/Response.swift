public import DirectoryRoot

/// An answer.
///
/// `Date`, `Content-Length` or `Transfer-Encoding`, `Connection` and the security fields are the connection's.
public struct Response: Sendable {
    /// The outcome.
    public var status: Status
    /// The fields, but those that are the connection's.
    public var fields: ResponseFields
    /// What follows the head; not sent to a HEAD, though its length is announced.
    public var body: Body

    /// An answer.
    /// - Parameters:
    ///   - status: the outcome.
    ///   - fields: what to say about it.
    ///   - body: what follows.
    public init(_ status: Status, fields: ResponseFields = [:], body: Body = .empty) {
        self.status = status
        self.fields = fields
        self.body = body
    }

    /// Short plain text, for a person.
    ///
    /// - Parameters:
    ///   - status: any but 204 and 304, which have no body.
    ///   - message: one or more lines; a last newline is added.
    /// - Returns: the answer.
    public static func text(_ status: Status, _ message: String) -> Response {
        var bytes = Array(message.utf8)
        bytes.append(UInt8(ascii: "\n"))
        var fields: ResponseFields = ["Content-Type": "text/plain; charset=utf-8"]
        // A cache may keep a 404 or 405 that does not say otherwise, and answer with it when the file is there.
        // RFC 9110 §15.1
        if status.code >= 400 { fields["Cache-Control"] = "no-cache" }
        return Response(status, fields: fields, body: .bytes(bytes))
    }

    /// What follows the head.
    public enum Body: Sendable {
        /// Nothing.
        case empty
        /// What is at hand already.
        case bytes([UInt8])
        /// The half-open span of an open file; sent by `sendfile` where the connection can.
        case file(Entry, Range<Int64>)
        /// Written while it is made; chunked when `length` is nil. When the writer throws or writes another number of
        /// bytes, the connection ends without a proper end of the body, so that nobody takes a part for the whole.
        case stream(length: Int64?, @Sendable (BodyWriter) async throws -> Void)

        /// How many bytes it has; nil where only its writer will tell.
        var length: Int64? {
            switch self {
            case .empty: 0
            case .bytes(let bytes): Int64(bytes.count)
            case .file(_, let range): Int64(range.count)
            case .stream(let announced, _): announced
            }
        }
    }
}

/// Where a stream body writes to.
public struct BodyWriter: Sendable {
    let sink: BodySink

    /// Returns when the connection can take more.
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
    /// - Throws: `CancellationError` when nobody reads any more.
    public func write(_ entry: Entry, _ range: Range<Int64>) async throws {
        guard !range.isEmpty else { return }
        try await sink.write(.file(entry, range))
    }
}
