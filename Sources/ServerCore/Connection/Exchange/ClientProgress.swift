/// Measures since when a client has made next to no progress with a request that waits for it.
///
/// Checked once a second. A byte now and then does not count: a client could keep its place with that for ever.
struct ClientProgress {
    /// What a client that makes progress sends or takes within some seconds, even on a slow line.
    private static let worth: Int64 = 16 * 1_024
    private var counted: Int64?
    /// The tick of the last check that found that much progress, or that nobody waited for the client.
    private(set) var since: UInt32

    init(_ tick: UInt32) { since = tick }

    /// Nobody is waiting for the client.
    mutating func rest(_ tick: UInt32) {
        counted = nil
        since = tick
    }

    /// Checks the progress while a request waits for the client.
    /// - Parameters:
    ///   - bytes: the number that it has sent or taken; counted from any start.
    ///   - tick: the current tick.
    /// - Returns: whether it has made progress since the last check that counted.
    mutating func look(_ bytes: Int64, _ tick: UInt32) -> Bool {
        guard let counted, bytes >= counted else {
            self.counted = bytes
            return false
        }
        guard bytes - counted >= Self.worth else { return false }
        self.counted = bytes
        since = tick
        return true
    }
}

/// An estimate of what the client of one HTTP/2 request has taken.
///
/// Of the response's own bytes, those that the socket accepted are known, but it accepts them in large steps. In
/// between, two other counts are used: what goes into frames on the connection (on narrow windows), and what the
/// client's TCP acknowledges (on a slow line); either may be for bytes queued before this response. But only a limited
/// amount of that counts: a client that opens no window for this request may read other responses for ever.
struct StreamIntake {
    private static let most: Int64 = 2 << 20
    private var written: Int64 = 0
    private var framed: Int64?
    private var confirmed: Int64?
    /// How many of the framed and acknowledged bytes count: since the last change of ``written``, and in all.
    private var others: (lately: Int64, inAll: Int64) = (0, 0)

    /// Updates the count; to be called every second.
    /// - Parameters:
    ///   - written: bytes of this request's response that the socket accepted.
    ///   - framed: bytes of all responses of the connection that went into frames.
    ///   - confirmed: the result of ``ReaderWatch/confirmed(on:)`` for the connection.
    /// - Returns: a number that grows while the client makes progress.
    mutating func count(written: Int64, framed: Int64, confirmed: Int64?) -> Int64 {
        if written != self.written { others.lately = 0 }
        self.written = written
        add(framed - (self.framed ?? framed))
        self.framed = framed
        if let before = self.confirmed, let confirmed { add(confirmed - before) }
        self.confirmed = confirmed
        return written &+ others.inAll
    }

    private mutating func add(_ bytes: Int64) {
        let more = min(max(0, bytes), Self.most - others.lately)
        others.lately += more
        others.inAll += more
    }
}
