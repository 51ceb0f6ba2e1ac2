import CSyscalls
import NIOCore

/// Distinguishes a client that takes little of what waits for it from one that takes nothing.
///
/// What is passed to a channel counts as taken when the last of it is in the socket, whose buffer the system frees in
/// large steps: for a song, or on a slow line, minutes may pass between two of them.
struct ReaderWatch {
    /// The number of acknowledged bytes when the wait was first checked.
    private var seen: Int64?

    /// Begins a new wait.
    mutating func begin() { seen = nil }

    /// Records at the beginning of a wait what was acknowledged before; to be called every second of it.
    mutating func look(at channel: (any Channel)?) {
        if seen == nil { seen = Self.confirmed(on: channel) }
    }

    /// Whether the client has yet to acknowledge bytes, which the system keeps until then.
    ///
    /// It also keeps them after the socket is closed, but discards them as soon as the client sends one more byte.
    static func isOwed(by channel: (any Channel)?) -> Bool { confirmed(on: channel) != nil }

    /// Whether the client has acknowledged bytes during this wait, and has others to acknowledge.
    func hasGoneOn(on channel: (any Channel)?) -> Bool {
        guard let seen, let confirmed = Self.confirmed(on: channel) else { return false }
        return confirmed > seen
    }

    /// The number of bytes that the peer has acknowledged while others are unacknowledged; nil while none are, and
    /// where the system can't tell.
    static func confirmed(on channel: (any Channel)?) -> Int64? {
        guard let channel, channel.isActive else { return nil }
        let confirmed = try? channel.pipeline.syncOperations.withUnsafeTransportIfAvailable(
            of: NIOBSDSocket.Handle.self
        ) { sys_acknowledged($0) }
        return (confirmed ?? -1) < 0 ? nil : confirmed
    }
}

/// Distinguishes a client that vanished silently from one to which little is sent.
///
/// What is sent now and then always fits into the socket's buffer: nothing waits for such a client here, and the system
/// would try for a quarter of an hour to reach it.
struct SilenceWatch {
    /// The number of acknowledged bytes when unacknowledged ones were first seen, or when it last grew, and the tick of
    /// that.
    private var seen: (bytes: Int64, tick: UInt32)?
    private var looked: UInt32 = 0

    /// Whether the client has acknowledged nothing for `limit` seconds while there was something to acknowledge; to be
    /// called every second, but checks only every `limit / 8` seconds.
    mutating func isSilent(on channel: (any Channel)?, _ tick: UInt32, limit: UInt32) -> Bool {
        guard tick &- looked >= limit / 8 else { return false }
        looked = tick
        guard let confirmed = ReaderWatch.confirmed(on: channel) else {
            seen = nil
            return false
        }
        guard let seen, seen.bytes == confirmed else {
            self.seen = (confirmed, tick)
            return false
        }
        return tick &- seen.tick >= limit
    }
}
