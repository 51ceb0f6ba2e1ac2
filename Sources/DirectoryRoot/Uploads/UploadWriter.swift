import CSyscalls

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// What takes a body's bytes on their way to a file.
package protocol UploadWriter: AnyObject {
    /// Appends all the bytes, or throws; waits for the disk.
    func write(_ bytes: UnsafeRawBufferPointer) throws(RootError)
}

/// What one look at a socket brought.
package enum Received: Equatable, Sendable {
    /// So many bytes were written.
    case bytes(Int)
    /// Nothing yet.
    case wouldBlock
    /// The peer sends nothing more.
    case end
}

extension UploadWriter {
    /// Moves what a socket holds into the file, without waiting for the socket.
    ///
    /// - Parameters:
    ///   - socket: connected; need not be in non-blocking mode.
    ///   - scratch: room for the bytes on their way.
    ///   - limit: the most bytes to take from the socket.
    /// - Returns: what came.
    /// - Throws: as ``write(_:)``; the socket's own errors as ``RootError/system(errno:call:)``.
    package func receive(
        from socket: Int32, scratch: UnsafeMutableRawBufferPointer, limit: Int
    ) throws(RootError) -> Received {
        let room = min(scratch.count, limit)
        guard room > 0 else { return .bytes(0) }
        let count = unsafe sys_recv(socket, scratch.baseAddress, room)
        if count == -Int(EAGAIN) || count == -Int(EWOULDBLOCK) { return .wouldBlock }
        guard count >= 0 else { throw .system(errno: Int32(-count), call: "recv") }
        if count == 0 { return .end }
        try unsafe write(UnsafeRawBufferPointer(rebasing: scratch[..<count]))
        return .bytes(count)
    }
}
