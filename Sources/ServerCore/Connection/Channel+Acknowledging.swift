import NIOCore

#if canImport(Musl)
    import Musl
#elseif canImport(Glibc)
    import Glibc
#endif

extension Channel {
    /// Acknowledges what has come, and what comes until the next byte is sent, without delay.
    ///
    /// Linux holds an acknowledgement back for 40 ms if the connection has lately been answering, to send it along with
    /// the next response. But a client with Nagle's algorithm (RFC 896) sends the rest of a message only when what came
    /// before was acknowledged: while a message is incomplete, the two would wait for each other. Does nothing on other
    /// systems, and on a Unix-domain socket.
    func acknowledgeAtOnce() {
        #if os(Linux)
            try? syncOptions?.setOption(.tcpOption(.init(rawValue: TCP_QUICKACK)), value: 1)
        #endif
    }
}
