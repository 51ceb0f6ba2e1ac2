import NIOCore

/// The last bytes of a peer that ends its side.
///
/// SwiftNIO then reads all that the system has of them at once, whoever asked: megabytes, where the connection was fast
/// before.
extension HTTP1Connection {
    /// As much as this is held of requests that wait for the answers of earlier ones.
    private static let readAhead = 256 * 1_024

    /// Takes the peer's side for ended where it has sent more than can wait here.
    ///
    /// Who sends requests ahead has to send those again whose answers never come (RFC 9112, section 9.3.2).
    func cutShort() {
        guard isBodyDone, inbound.readableBytes > Self.readAhead, phase != .closed else { return }
        // A copy: a slice would keep the whole.
        inbound = ByteBuffer(bytes: inbound.readableBytesView.prefix(Self.readAhead))
        isInputClosed = true
    }

    /// Counts what came of a body that its reader has not asked for.
    /// - Returns: false when there is no room for it.
    func holdUnasked(_ bytes: Int) -> Bool {
        guard phase == .exchange, !isBodyDone else { return true }
        guard engine.unaskedBodies.change(from: ahead(unasked), to: ahead(unasked + bytes)) else { return false }
        unasked += bytes
        return true
    }

    func releaseUnasked() {
        guard unasked > 0 else { return }
        _ = engine.unaskedBodies.change(from: ahead(unasked), to: 0)
        unasked = 0
    }

    /// What of `bytes` is counted: a client that only ends its side after a small upload needs no room.
    private func ahead(_ bytes: Int) -> Int { max(0, bytes - Self.readAhead) }
}
