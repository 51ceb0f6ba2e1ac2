import CSyscalls
import NIOCore

extension Channel {
    /// The client's address, for the log and for limits per address: numeric, or `unix` for a Unix-domain socket.
    ///
    /// Nil when the client reset the connection before it was accepted: the system no longer knows its address, and its
    /// requests would be handled, logged and counted as if they came over a local socket.
    var peer: String? { remoteAddress.map { $0.ipAddress ?? "unix" } }

    /// Whether the client has closed its side, or is gone, as the system knows: the loop may not have read as far yet.
    var hasHungUp: Bool {
        guard isActive else { return true }
        let answer = try? pipeline.syncOperations.withUnsafeTransportIfAvailable(of: NIOBSDSocket.Handle.self) {
            sys_has_hung_up($0)
        }
        return answer == 1
    }
}
