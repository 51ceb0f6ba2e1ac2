import NIOCore

extension Channel {
    /// Who is at the other end, for the log and for what counts by address: a numeric address, or `unix` over a
    /// Unix-domain socket.
    ///
    /// Nil when the client had reset the connection before it was taken: the system no longer says whose it was, and
    /// what it asked for would be done, logged and counted as if it came over a socket of this machine.
    var peer: String? { remoteAddress.map { $0.ipAddress ?? "unix" } }
}
