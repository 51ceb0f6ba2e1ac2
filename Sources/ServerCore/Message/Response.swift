public import DirectoryRoot

/// An answer. `Date`, `Content-Length` or `Transfer-Encoding`, `Connection` and the security fields are the connection's.
public struct Response: Sendable {
    public var status: Status
    public var fields: ResponseFields
    public var body: Body

    public init(_ status: Status, fields: ResponseFields = [:], body: Body = .empty) {
        self.status = status
        self.fields = fields
        self.body = body
    }

    /// Short plain text, for a person.
    public static func text(_ status: Status, _ message: String) -> Response { fatalError() }

    public enum Body: Sendable {
        case empty
        case bytes([UInt8])
        /// The half-open span of an open file; sent by `sendfile` where the connection can.
        case file(Entry, Range<Int64>)
        /// Written while it is made; chunked when `length` is nil. When the writer throws or writes another number of bytes, the
        /// connection ends without a proper end of the body, so that nobody takes a part for the whole.
        case stream(length: Int64?, @Sendable (BodyWriter) async throws -> Void)
    }
}

/// The header fields of an answer, in order. Names and values with bytes that a field cannot carry trap in debug builds
/// and are dropped in release builds.
public struct ResponseFields: Sendable, ExpressibleByDictionaryLiteral {
    public private(set) var lines: [(name: String, value: String)]

    public init(dictionaryLiteral elements: (String, String)...) { lines = elements.map { ($0.0, $0.1) } }

    /// Adds a line.
    public mutating func add(_ name: String, _ value: String) { lines.append((name, value)) }

    /// The first value; setting replaces every line of that name (nil removes).
    public subscript(name: String) -> String? {
        get { fatalError() }
        set { fatalError() }
    }
}

/// Where a stream body writes to.
public struct BodyWriter: Sendable {
    /// Returns when the connection can take more.
    public func write(_ bytes: [UInt8]) async throws { fatalError() }

    /// Sends a span of an open file.
    public func write(_ entry: Entry, _ range: Range<Int64>) async throws { fatalError() }
}
