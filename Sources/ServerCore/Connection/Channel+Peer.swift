import NIOCore

extension Channel {
    /// The client's address, for the log and for limits per address: numeric, or `unix` for a Unix-domain socket.
    ///
    /// Nil when the client reset the connection before it was accepted: the system no longer knows its address, and its
    /// requests would be handled, logged and counted as if they came over a local socket.
    var peer: String? { remoteAddress.map { $0.ipAddress ?? "unix" } }
}
