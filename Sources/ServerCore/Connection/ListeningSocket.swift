import NIOCore
import Synchronization

/// The listening sockets of a server.
struct ListeningSockets {
    var sockets: [ListeningSocket] = []
    /// The socket files of those that have one.
    var files: [SocketFile] = []

    /// Stops accepting connections.
    func close() async {
        // While a socket is open, no other file can have its inode number.
        for file in files { file.remove() }
        for socket in sockets { await socket.close() }
    }
}

/// A listening socket, until it is closed here.
final class ListeningSocket: Sendable {
    /// TLS for its connections; nil for none.
    let contexts: TLSContexts?
    private let state = Mutex<(channel: (any Channel)?, isClosed: Bool)>((nil, false))

    init(contexts: TLSContexts?) { self.contexts = contexts }

    var isClosed: Bool { state.withLock(\.isClosed) }
    var port: Int? { state.withLock { $0.channel?.localAddress?.port } }

    /// Has this channel accept its connections; closes it if the socket has been closed meanwhile.
    func open(_ channel: any Channel) {
        let isClosed = state.withLock { state in
            state.channel = channel
            return state.isClosed
        }
        if isClosed { channel.close(promise: nil) }
    }

    /// Accepts connections from now on.
    func accept() async throws { try await state.withLock(\.channel)?.setOption(.autoRead, value: true).get() }

    func close() async {
        let channel = state.withLock { state in
            state.isClosed = true
            return state.channel
        }
        try? await channel?.close()
    }
}
