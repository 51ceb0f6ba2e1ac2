public import DirectoryRoot

/// One request, as a handler sees it. Cheap to pass along; its text is made only when asked for.
public struct Request: Sendable {
    public let method: Method
    /// The decoded path below the path prefix: already split, decoded and validated.
    public let path: SharePath
    /// Whether the target ended in a slash.
    public let hasTrailingSlash: Bool
    /// What follows `?`, undecoded; nil without one.
    public let query: String?
    public let fields: RequestFields
    /// The share as this requester may see it.
    public let share: Share
    public let body: RequestBody
    /// Runs what may wait for a disk.
    public let io: IOPool
    /// The percent-encoded prefix that every address of this server starts with: empty, or `/p` without a last slash.
    public let prefix: String
    /// `http` or `https`, as the client sees it (behind a trusted proxy, as the proxy says).
    public let scheme: String
    /// The host and port that the client asked for; empty in HTTP/1.0 without `Host`.
    public let authority: String

    /// The first value of a query parameter, form-decoded; nil when absent.
    public func queryValue(_ name: String) -> String? { fatalError() }

    /// The absolute path of `path` on this server, percent-encoded, with a last slash for a directory.
    public func href(_ path: SharePath, isDirectory: Bool) -> String { fatalError() }

    /// Resolves an absolute URI or absolute path that the client sent (`Destination`, a tagged list of `If`), by the
    /// very parser that the request's own target went through.
    /// - Throws: ``HTTPError`` 400 when malformed or outside the prefix, 502 when it names another server.
    public func resolve(reference: String) throws(HTTPError) -> (path: SharePath, hasTrailingSlash: Bool) {
        fatalError()
    }
}

/// The header fields of a request.
public struct RequestFields: Sendable {
    /// The field's value, several lines joined by `, ` (RFC 9110 §5.3); nil when absent. Bytes above 0x7F are read as UTF-8
    /// where valid.
    /// - Parameter name: lower case.
    public subscript(name: String) -> String? { fatalError() }

    /// Each line's value.
    public func values(_ name: String) -> [String] { fatalError() }
}

/// The body of a request: read once, in order, with back-pressure to the socket.
public struct RequestBody: AsyncSequence, Sendable {
    public typealias Element = [UInt8]

    /// The announced length; nil for chunked; 0 without a body. Of the bytes on the wire (before any gzip decoding).
    public let length: Int64?

    public struct AsyncIterator: AsyncIteratorProtocol {
        public mutating func next() async throws -> [UInt8]? { fatalError() }
    }

    public func makeAsyncIterator() -> AsyncIterator { fatalError() }

    /// The whole body.
    /// - Throws: ``HTTPError`` 413 when it is larger than `limit` bytes.
    public func collect(upTo limit: Int) async throws -> [UInt8] { fatalError() }

    /// Writes the whole body to `upload`, by the shortest way from the socket to the file.
    /// - Throws: what the upload throws, or ``HTTPError`` when the peer breaks off, is too slow, or sends too much.
    public func copy(to upload: PendingUpload) async throws { fatalError() }
}
