import CSyscalls
import NIOCore

/// Tells a client that takes little of what waits for it from one that takes nothing.
///
/// What is given to a channel counts as taken when the last of it is in the socket, and the system makes room there in
/// large steps: of a song, or on a thin line, minutes may pass between two of them.
struct ReaderWatch {
    /// Bytes confirmed when the wait was first looked at.
    private var seen: Int64?

    /// A new wait begins.
    mutating func begin() { seen = nil }

    /// Looks at the beginning of a wait what was confirmed before it; to be called every second of it.
    mutating func look(at channel: (any Channel)?) {
        if seen == nil { seen = Self.confirmed(on: channel) }
    }

    /// Whether the client has yet to confirm bytes, which the system keeps until then.
    ///
    /// Closing a socket keeps them too, until the client sends one byte more: then they are thrown away.
    static func isOwed(by channel: (any Channel)?) -> Bool { confirmed(on: channel) != nil }

    /// Whether the client has confirmed bytes in this wait, and has others to confirm.
    func hasGoneOn(on channel: (any Channel)?) -> Bool {
        guard let seen, let confirmed = Self.confirmed(on: channel) else { return false }
        return confirmed > seen
    }

    /// Bytes that the peer has confirmed, while it owes confirmation of others; nil while it owes none, and where the
    /// system does not tell.
    static func confirmed(on channel: (any Channel)?) -> Int64? {
        guard let channel, channel.isActive else { return nil }
        let confirmed = try? channel.pipeline.syncOperations.withUnsafeTransportIfAvailable(
            of: NIOBSDSocket.Handle.self
        ) { sys_acknowledged($0) }
        return (confirmed ?? -1) < 0 ? nil : confirmed
    }
}

/// Tells a client that is gone without a word from one to which little is said.
///
/// What is said now and then always finds room in the socket: nothing waits for such a client here, and the system
/// would try for a quarter of an hour to reach it.
struct SilenceWatch {
    /// What was confirmed when something was first seen to wait for confirmation, or confirmed last, and when.
    private var seen: (bytes: Int64, tick: UInt32)?
    private var looked: UInt32 = 0

    /// Whether the client has confirmed nothing for `limit` seconds, while there was something to confirm; to be asked
    /// every second, of which it takes few to look.
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
