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
