import NIOCore

/// Handles the last bytes of a peer that ends its side.
///
/// SwiftNIO then reads at once everything that the system has received, although nobody asked for it: megabytes, if the
/// connection was fast before.
extension HTTP1Connection {
    /// The most bytes held of requests that wait for the responses to earlier ones.
    static let readAhead = 256 * 1_024

    /// Treats the peer's side as ended if it has sent more than can wait here.
    ///
    /// A client that pipelines must repeat the requests whose responses never arrive (RFC 9112 §9.3.2).
    func cutShort() {
        guard isBodyDone, inbound.readableBytes > Self.readAhead, phase != .closed else { return }
        // A copy: a slice would keep the whole buffer.
        inbound = ByteBuffer(bytes: inbound.readableBytesView.prefix(Self.readAhead))
        endInput()
        isInputCut = true
    }

    /// Counts received bytes of a body that its reader has not asked for.
    /// - Returns: false when there is no memory for them.
    func holdUnasked(_ bytes: Int) -> Bool {
        guard phase == .exchange, !isBodyDone else { return true }
        guard engine.memory.unaskedBodies.change(from: ahead(unasked), to: ahead(unasked + bytes)) else { return false }
        unasked += bytes
        return true
    }

    func releaseUnasked() {
        guard unasked > 0 else { return }
        _ = engine.memory.unaskedBodies.change(from: ahead(unasked), to: 0)
        unasked = 0
    }

    /// How many of `bytes` are counted: a client that merely ends its side after a small upload needs no budget.
    private func ahead(_ bytes: Int) -> Int { max(0, bytes - Self.readAhead) }
}
