public import DirectoryRoot

/// The body of a request: read once, in order, with back-pressure to the socket.
///
/// A gzip body (`Content-Encoding: gzip`) is decoded, within a limit on its expansion; another coding is refused with
/// 415 when the body is read.
public struct RequestBody: AsyncSequence, Sendable {
    /// Some of the bytes, in order; never empty.
    public typealias Element = [UInt8]

    /// The announced length; nil for chunked; 0 without a body.
    ///
    /// Counts the bytes on the wire (before any gzip decoding).
    public let length: Int64?
    let pipe: BodyPipe?
    let coding: BodyCoding

    init(length: Int64?, pipe: BodyPipe?, coding: BodyCoding = .identity) {
        self.length = length
        self.pipe = pipe
        self.coding = coding
    }

    /// A body that is already in memory.
    init(bytes: [UInt8]) {
        self.init(length: Int64(bytes.count), pipe: bytes.isEmpty ? nil : BodyPipe(whole: bytes))
    }

    /// Whether the decoded body differs from the bytes on the wire.
    public var isEncoded: Bool {
        if case .identity = coding { return false }
        return true
    }

    /// Whether it is received no faster than a rate limit allows.
    package var isPaced: Bool { pipe?.pace.isLimited ?? false }

    /// Hashes the bytes on the wire while they are read; does nothing for a body that is not encoded.
    ///
    /// To be called before reading.
    package func hashEncoded(by algorithms: [DigestAlgorithm]) {
        if case .gzip(let decoder) = coding { decoder.hash(by: algorithms) }
    }

    /// The digest of the bytes on the wire; nil unless all of them were hashed.
    package func encodedDigest(by algorithm: DigestAlgorithm) -> [UInt8]? {
        guard case .gzip(let decoder) = coding else { return nil }
        return decoder.digest(by: algorithm)
    }

    /// Reads the body.
    public struct AsyncIterator: AsyncIteratorProtocol {
        let body: RequestBody

        /// The next bytes; nil at the end.
        /// - Throws: ``HTTPError`` when the peer disconnects, is too slow, or sends too much.
        public mutating func next() async throws -> [UInt8]? {
            guard let pipe = body.pipe else {
                try body.coding.checkEmpty()
                return nil
            }
            switch body.coding {
            case .identity: return try await pipe.next()
            case .gzip(let decoder): return try await decoder.next(from: pipe)
            case .unknown(let error): throw error
            }
        }
    }

    /// Reads from where an earlier iterator stopped.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(body: self) }

    /// The whole body, if all of it has been received and need not be decoded or delayed; else nil.
    ///
    /// The body can still be read.
    package var atHand: [UInt8]? {
        guard case .identity = coding else { return nil }
        guard let pipe else { return [] }
        return pipe.atHand
    }

    /// The whole body.
    /// - Throws: ``HTTPError`` 413 when it is larger than `limit` bytes, 503 when the memory for collected bodies is
    ///   used up.
    public func collect(upTo limit: Int) async throws -> [UInt8] { try await collect(upTo: limit, reserved: 0) }

    /// The whole body, for which memory is reserved.
    /// - Parameters:
    ///   - limit: the most bytes.
    ///   - reserved: what ``reserve(_:)`` has counted; released at the end.
    /// - Returns: the body.
    /// - Throws: as ``collect(upTo:)``.
    package func collect(upTo limit: Int, reserved: Int) async throws -> [UInt8] {
        let memory = pipe?.memory
        var counted = reserved
        defer { _ = memory?.change(from: counted, to: 0) }
        if let length, length > limit { throw HTTPError.bodyTooLarge }
        var whole: [UInt8] = []
        for try await bytes in self {
            let count = whole.count + bytes.count
            guard count <= limit else { throw HTTPError.bodyTooLarge }
            if count > counted, let memory {
                guard memory.change(from: counted, to: count) else { throw ByteBudget.refusal }
                counted = count
            }
            if whole.isEmpty { whole = bytes } else { whole.append(contentsOf: bytes) }
        }
        return whole
    }

    /// Reserves memory for a body that will be collected.
    /// - Parameter bytes: its length.
    /// - Returns: false when there is not enough memory now.
    package func reserve(_ bytes: Int) -> Bool { pipe?.memory?.change(from: 0, to: bytes) ?? true }

    /// Counts the memory for names in a form, which are kept until all of it was received.
    /// - Parameters:
    ///   - bytes: the bytes kept now; 0 at the end.
    ///   - before: what was counted before.
    /// - Throws: ``HTTPError`` 503 when there is no memory for more; then nothing has changed.
    package func holdNames(_ bytes: Int, insteadOf before: Int) throws(HTTPError) {
        guard pipe?.formNames?.change(from: before, to: bytes) ?? true else { throw ByteBudget.refusal }
    }

    /// Passes the whole rest of the body to `consume`, piece by piece, in the most direct way from the socket.
    ///
    /// Runs on a thread of the I/O pool, where `consume` may wait for the disk. A piece is valid only within the call.
    /// - Parameter consume: called with each piece.
    /// - Throws: what `consume` throws, or ``HTTPError`` when the peer disconnects, is too slow, or sends too much.
    public func forEachPiece(_ consume: (UnsafeRawBufferPointer) throws -> Void) async throws {
        try unsafe await receive(at: nil, consume)
    }

    /// Writes the whole body to `upload`, in the most direct way from the socket to the file.
    /// - Throws: what the upload throws, or ``HTTPError`` when the peer disconnects, is too slow, or sends too much.
    public func copy(to upload: PendingUpload) async throws {
        try unsafe await receive(at: upload) { piece in try unsafe upload.write(piece) }
    }

    /// Receives the whole rest of the body.
    /// - Parameters:
    ///   - place: where pieces may be received; nil for nowhere.
    ///   - consume: called with each piece that was not written to the place by other means.
    /// - Throws: what `consume` and the place throw, or ``HTTPError``.
    private func receive(
        at place: (any ReceivingPlace)?, _ consume: (UnsafeRawBufferPointer) throws -> Void
    ) async throws {
        guard let pipe else { return try coding.checkEmpty() }
        if case .identity = coding {
            try await pipe.takeFirstTurn()
            while let bytes = try pipe.takeReady() {
                try unsafe bytes.withUnsafeBytes(consume)
                try await pipe.pay(for: bytes.count)
            }
            if pipe.isOver { return }
            if let exchange = pipe.upstream as? Exchange {
                if try unsafe await exchange.receiveDirectly(draining: pipe, at: place, consume) { return }
            }
        }
        for try await bytes in self { try unsafe bytes.withUnsafeBytes(consume) }
    }
}

/// How a body's bytes on the wire encode its content.
///
/// RFC 9110 §8.4.
enum BodyCoding: Sendable {
    case identity
    case gzip(GzipBody)
    /// A coding that this server does not support.
    case unknown(HTTPError)

    /// The coding that a head announces.
    init(_ head: RequestHead, maxRatio: Int) {
        guard let value = head[.contentEncoding], !value.isEmpty, !ASCII.equalIgnoringCase(value, "identity".utf8)
        else {
            self = .identity
            return
        }
        let isGzip =
            ASCII.equalIgnoringCase(value, "gzip".utf8) || ASCII.equalIgnoringCase(value, "x-gzip".utf8)
        guard isGzip, !head.repeated.contains(.contentEncoding) else {
            var error = HTTPError(.unsupportedMediaType, "Bodies are taken as they are, or with gzip.")
            error.fields["Accept-Encoding"] = "gzip"
            self = .unknown(error)
            return
        }
        self = .gzip(GzipBody(maxRatio: maxRatio))
    }

    /// Checks that a body in this coding may be empty.
    /// - Throws: ``HTTPError`` 400 for gzip, whose shortest stream has 20 bytes; 415 for an unsupported coding.
    func checkEmpty() throws(HTTPError) {
        switch self {
        case .identity: return
        case .gzip: throw GzipBody.damaged
        case .unknown(let error): throw error
        }
    }
}

/// A gzip body that is being received; used by one task at a time.
final class GzipBody: @unchecked Sendable {
    private let maxRatio: Int
    private var inflater: Inflater?
    private var isOver = false
    private var digesters: [DigestAlgorithm: Digester] = [:]
    /// Where ``cost`` is counted while there is a decoder.
    private var memory: ByteBudget?

    /// The bytes that a decoder takes, most of them for its window.
    private static let cost = 44 * 1_024

    static let damaged = HTTPError(.badRequest, "This body is not the gzip it claims to be.")

    init(maxRatio: Int) {
        self.maxRatio = maxRatio
    }

    deinit { _ = memory?.change(from: Self.cost, to: 0) }

    private func makeInflater(in memory: ByteBudget?) throws -> Inflater {
        if self.memory == nil {
            guard memory?.change(from: 0, to: Self.cost) ?? true else { throw ByteBudget.refusal }
            self.memory = memory
        }
        let inflater = try Inflater(maxRatio: Int64(maxRatio))
        self.inflater = inflater
        return inflater
    }

    func hash(by algorithms: [DigestAlgorithm]) {
        for algorithm in algorithms { digesters[algorithm] = Digester(algorithm) }
    }

    func digest(by algorithm: DigestAlgorithm) -> [UInt8]? { isOver ? digesters[algorithm]?.finish() : nil }

    func next(from pipe: BodyPipe) async throws -> [UInt8]? {
        guard !isOver else { return nil }
        do {
            let inflater = try inflater ?? makeInflater(in: pipe.memory)
            while true {
                if let piece = try inflater.piece() { return piece }
                guard let bytes = try await pipe.next() else {
                    isOver = true
                    try inflater.finish()
                    return nil
                }
                for algorithm in digesters.keys { digesters[algorithm]?.update(bytes) }
                inflater.feed(bytes)
            }
        } catch let error as GzipError {
            isOver = true
            switch error {
            case .noMemory: throw HTTPError(.serviceUnavailable, "The server is short of memory. Try again later.")
            case .expandsTooMuch:
                throw HTTPError(
                    .contentTooLarge,
                    "This body expands to more than the server takes in gzip. Send it without Content-Encoding.")
            case .malformed, .truncated: throw Self.damaged
            }
        }
    }
}
