import NIOCore
internal import NIOSSL

extension ChannelHandlerContext {
    /// Ends a TLS connection immediately: neither sends close_notify, if it was not sent yet, nor waits for that of its
    /// client.
    ///
    /// RFC 9112 §9.8.
    func closeBelowTLS() {
        guard let secured = try? pipeline.syncOperations.context(handlerType: NIOSSLServerHandler.self) else { return }
        secured.close(promise: nil)
    }
}
