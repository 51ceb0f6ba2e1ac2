import NIOCore
internal import NIOSSL

extension ChannelHandlerContext {
    /// Ends a TLS connection at once: neither says that all was sent, where that was not said yet, nor waits for its
    /// client to say so.
    ///
    /// RFC 9112 §9.8.
    func closeBelowTLS() {
        guard let secured = try? pipeline.syncOperations.context(handlerType: NIOSSLServerHandler.self) else { return }
        secured.close(promise: nil)
    }
}
