public import DirectoryRoot

/// The body of a request: read once, in order, with back-pressure to the socket.
public struct RequestBody: AsyncSequence, Sendable {
    /// Some of the bytes, in order; never empty.
    public typealias Element = [UInt8]

    /// The announced length; nil for chunked; 0 without a body.
    ///
    /// Of the bytes on the wire (before any gzip decoding).
    public let length: Int64?
    let pipe: BodyPipe?

    init(length: Int64?, pipe: BodyPipe?) {
        self.length = length
        self.pipe = pipe
    }

    /// A body that is at hand.
    init(bytes: [UInt8]) {
        length = Int64(bytes.count)
        pipe = bytes.isEmpty ? nil : BodyPipe(whole: bytes)
    }

    /// Reads the body.
    public struct AsyncIterator: AsyncIteratorProtocol {
        let pipe: BodyPipe?

        /// The next bytes; nil at the end.
        /// - Throws: ``HTTPError`` when the peer breaks off, is too slow, or sends too much.
        public mutating func next() async throws -> [UInt8]? {
            guard let pipe else { return nil }
            return try await pipe.next()
        }
    }

    /// Reads from where an earlier iterator stopped.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(pipe: pipe) }

    /// The whole body.
    /// - Throws: ``HTTPError`` 413 when it is larger than `limit` bytes.
    public func collect(upTo limit: Int) async throws -> [UInt8] {
        if let length, length > limit { throw Self.tooLarge }
        var whole: [UInt8] = []
        for try await bytes in self {
            guard whole.count + bytes.count <= limit else { throw Self.tooLarge }
            if whole.isEmpty { whole = bytes } else { whole.append(contentsOf: bytes) }
        }
        return whole
    }

    private static var tooLarge: HTTPError {
        HTTPError(.contentTooLarge, "The body of this request is larger than the server takes.")
    }

    /// Writes the whole body to `upload`, by the shortest way from the socket to the file.
    /// - Throws: what the upload throws, or ``HTTPError`` when the peer breaks off, is too slow, or sends too much.
    public func copy(to upload: PendingUpload) async throws {
        for try await bytes in self {
            // Untyped on purpose: swiftc 6.3.1 crashes on a closure with a typed throw here.
            try bytes.withUnsafeBytes { (bytes: UnsafeRawBufferPointer) throws in try upload.write(bytes) }
        }
    }
}
