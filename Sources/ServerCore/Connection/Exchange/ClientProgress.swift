/// Tells since when a client has done next to nothing for a request that waits for it.
///
/// Looked at once a second. A byte now and then does not count: it would keep a place for good.
struct ClientProgress {
    /// As much as one who goes on sends or takes within some seconds, on a thin line too.
    private static let worth: Int64 = 16 * 1_024
    private var counted: Int64?
    /// The tick of the last look that found that much, or that nobody waits.
    private(set) var since: UInt32

    init(_ tick: UInt32) { since = tick }

    /// Nobody waits for the client.
    mutating func rest(_ tick: UInt32) {
        counted = nil
        since = tick
    }

    /// It is waited for.
    /// - Parameters:
    ///   - bytes: that it has sent or taken; any number to count from.
    ///   - tick: now.
    /// - Returns: whether it has gone on since the last look that counted.
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

/// What the client of one request of HTTP/2 has taken, as far as that can be told.
///
/// Of its own bytes, what the socket took, which is in large steps. Between two of them counts what goes into frames on
/// the connection, where windows are narrow, and what its client confirms, where the line is thin: either may have been
/// before them on the way. But only so much of it: a client that opens no window for this request may read others for
/// ever.
struct StreamIntake {
    private static let most: Int64 = 2 << 20
    private var written: Int64 = 0
    private var framed: Int64?
    private var confirmed: Int64?
    /// Of what was framed and confirmed, what counts: since the last of ``written``, and in all.
    private var others: (lately: Int64, inAll: Int64) = (0, 0)

    /// Counts on; to be called every second.
    /// - Parameters:
    ///   - written: bytes of this request's answer that the socket took.
    ///   - framed: bytes of all answers of the connection that went into frames.
    ///   - confirmed: what ``ReaderWatch/confirmed(on:)`` tells of the connection.
    /// - Returns: a number that grows while the client goes on.
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
