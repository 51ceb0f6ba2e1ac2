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
    private static func confirmed(on channel: (any Channel)?) -> Int64? {
        guard let channel, channel.isActive else { return nil }
        let confirmed = try? channel.pipeline.syncOperations.withUnsafeTransportIfAvailable(
            of: NIOBSDSocket.Handle.self
        ) { sys_acknowledged($0) }
        return (confirmed ?? -1) < 0 ? nil : confirmed
    }
}
