import CSyscalls
import Logging
import NIOCore
import NIOPosix
internal import NIOSSL

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// Opens the listening sockets of a server, which do not accept connections yet.
struct Listener {
    let group: MultiThreadedEventLoopGroup
    let engine: Engine
    let loopStates: LoopStates
    /// TLS for network connections; nil for none.
    var contexts: TLSContexts?
    /// How many connections may wait to be accepted.
    private static let backlog: Int32 = 1_024

    /// Listens on every address, or on none if one fails.
    /// - Returns: the sockets, and the addresses with their real ports.
    /// - Throws: ``ListenError``.
    func bindAll(_ addresses: [ListenAddress]) async throws -> (ListeningSockets, [ListenAddress]) {
        var attempt = 0
        while true {
            do {
                return try await bindOnce(addresses)
            } catch ListenError.portInUse where attempt < 8 && addresses.allSatisfy({ $0.port == 0 }) {
                // A port that was free for one address family was in use for the other: try another one.
                attempt += 1
            }
        }
    }

    private func bindOnce(_ addresses: [ListenAddress]) async throws -> (ListeningSockets, [ListenAddress]) {
        var sockets = ListeningSockets()
        var bound: [ListenAddress] = []
        var chosenPort = 0
        do {
            for address in addresses {
                switch address {
                case .unix(let path):
                    try await bind(path: path, adding: &sockets)
                    bound.append(address)
                case .internet(let host, let port):
                    // The system would take the lower 16 bits of any other number.
                    guard 0...65_535 ~= port else {
                        throw ListenError.refused(address: "port \(port)", reason: "ports end at 65535")
                    }
                    let wanted = port == 0 ? chosenPort : port
                    guard let socket = try await bind(host: host, port: wanted, isOptional: addresses.count > 1)
                    else { continue }
                    sockets.sockets.append(socket)
                    let real = socket.port ?? wanted
                    if port == 0 { chosenPort = real }
                    bound.append(.internet(host: host, port: real))
                }
            }
            guard !sockets.sockets.isEmpty else {
                throw ListenError.refused(address: "", reason: "there is no address to listen on")
            }
        } catch {
            await sockets.close()
            throw error
        }
        return (sockets, bound)
    }

    private func bind(host: String, port: Int, isOptional: Bool) async throws -> ListeningSocket? {
        let socket = ListeningSocket(contexts: contexts)
        do {
            let channel = try await bootstrap(for: socket, isIPv6: host.contains(":")).bind(host: host, port: port)
                .get()
            socket.open(channel)
            return socket
        } catch let error as IOError {
            switch error.errnoCode {
            case EADDRINUSE: throw ListenError.portInUse(host: host, port: port)
            case EACCES where port < 1_024:
                throw ListenError.refused(address: "port \(port)", reason: "ports below 1024 need root's rights")
            case EAFNOSUPPORT, EADDRNOTAVAIL:
                // A machine without IPv6 still serves IPv4.
                if host == "::", isOptional { return nil }
            default: break
            }
            throw ListenError.refused(
                address: Self.written(host, port), reason: unsafe String(cString: strerror(error.errnoCode)))
        } catch is SocketAddressError.UnknownHost {
            throw ListenError.refused(address: host, reason: "there is no such address or name")
        } catch {
            throw ListenError.refused(address: Self.written(host, port), reason: "\(error)")
        }
    }

    private static func written(_ host: String, _ port: Int) -> String {
        host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
    }

    /// Not bound by NIO, which removes whatever is at the path when it closes the socket.
    private func bind(path: String, adding sockets: inout ListeningSockets) async throws {
        try await clearStaleSocket(path)
        let number = unsafe sys_socket_at(path)
        switch -number {
        case EADDRINUSE: throw ListenError.socketInUse(path: path)
        case ENAMETOOLONG: throw ListenError.refused(address: path, reason: "a socket's path ends at 107 bytes")
        case let error where error > 0:
            throw unsafe ListenError.refused(address: path, reason: String(cString: strerror(error)))
        default: break
        }
        if let file = SocketFile(path) { sockets.files.append(file) }
        do {
            let socket = ListeningSocket(contexts: nil)
            socket.open(try await bootstrap(for: socket, isIPv6: false).withBoundSocket(number).get())
            sockets.sockets.append(socket)
            // NIO has called it with another backlog; the last call counts, and if it fails, that one does.
            _ = listen(number, Self.backlog)
        } catch {
            throw ListenError.refused(address: path, reason: "\(error)")
        }
    }

    /// Removes a socket file that a dead process left; never one on which somebody listens, and nothing else.
    private func clearStaleSocket(_ path: String) async throws {
        let isSocket = unsafe sys_is_socket(path)
        guard isSocket >= 0 else { return }
        guard isSocket == 1 else { throw ListenError.notASocket(path: path) }
        do {
            let channel = try await ClientBootstrap(group: group).connect(unixDomainSocketPath: path).get()
            try? await channel.close()
        } catch let error as IOError where error.errnoCode == ECONNREFUSED {
            unsafe unlink(path)
            return
        } catch {
            return
        }
        throw ListenError.socketInUse(path: path)
    }

    /// Listens at a socket again whose channel has closed.
    /// - Parameters:
    ///   - socket: where the channel was.
    ///   - number: a duplicate descriptor of it, with those who wait to be accepted.
    func reopen(_ socket: ListeningSocket, _ number: Int32) {
        bootstrap(for: socket, isIPv6: false).withBoundSocket(number).whenComplete { result in
            switch result {
            case .success(let channel):
                _ = listen(number, Self.backlog)
                socket.open(channel)
                channel.setOption(.autoRead, value: true).whenComplete { _ in }
            case .failure(let error):
                engine.logger.critical(
                    "a socket accepts no more connections: start the server again",
                    metadata: ["reason": "\(error)"])
            }
        }
    }

    private func bootstrap(for socket: ListeningSocket, isIPv6: Bool) -> ServerBootstrap {
        let contexts = socket.contexts
        let engine = engine
        let loopStates = loopStates
        return ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: Self.backlog)
            .serverChannelOption(.autoRead, value: false)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            // Accepted sockets inherit it: this saves a system call for each connection.
            .serverChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .serverChannelInitializer { channel in
                let failures = AcceptFailures(listener: self, socket: socket)
                do {
                    try channel.pipeline.syncOperations.addHandler(failures)
                    try channel.closeOnExec()
                } catch {
                    return channel.eventLoop.makeFailedFuture(error)
                }
                guard isIPv6, let options = channel.syncOptions else {
                    return channel.eventLoop.makeSucceededVoidFuture()
                }
                return channel.eventLoop.makeCompletedFuture {
                    try options.setOption(ChannelOptions.Types.SocketOption(level: .ipv6, name: .ipv6_v6only), value: 1)
                }
            }
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    guard let state = loopStates.state(of: channel.eventLoop), let options = channel.syncOptions else {
                        throw ChannelError.inappropriateOperationForState
                    }
                    // Not as options of the bootstrap, which sets them by a chain of futures: that would take a seventh
                    // of the time for a connection with one request.
                    try channel.closeOnExec()
                    try options.setOption(.autoRead, value: false)
                    try options.setOption(.allowRemoteHalfClosure, value: true)
                    try options.setOption(.maxMessagesPerRead, value: 1)
                    try options.setOption(.recvAllocator, value: HTTP1Connection.receiveAllocator)
                    if let contexts {
                        let sender = TLSSender(channel)
                        try channel.pipeline.syncOperations.addHandler(sender)
                        try channel.pipeline.syncOperations.addHandler(PlainTextRefusal())
                        try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: contexts.current))
                        let greeter = TLSGreeter(engine: engine, loopState: state, sender: sender)
                        try channel.pipeline.syncOperations.addHandler(greeter)
                    } else {
                        let connection = HTTP1Connection(engine: engine, loopState: state, sender: nil)
                        try channel.pipeline.syncOperations.addHandler(connection)
                    }
                }
            }
    }
}

extension Channel {
    /// Keeps the socket from the programs that an app begins, to whom NIO leaves it: they would keep the address in use,
    /// and a connection open, after the server's end.
    fileprivate func closeOnExec() throws {
        _ = try pipeline.syncOperations.withUnsafeTransportIfAvailable(of: NIOBSDSocket.Handle.self) {
            fcntl($0, F_SETFD, FD_CLOEXEC)
        }
    }
}
