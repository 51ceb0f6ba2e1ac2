import CSyscalls

/// The socket of a plain connection, lent to the task that writes a chunked body: it sends what it has made without
/// waking the loop for each piece, as long as the socket accepts all of it.
///
/// Used only under the lock of its ``BodySink``, which ends it with the connection, or with the first piece that the
/// socket does not accept completely.
final class Outlet: Sendable {
    let pool: PoolThreads
    /// A duplicate descriptor, so that the connection may close meanwhile.
    private let socket: Int32
    private let counters: Counters

    /// Nil when no descriptor is left.
    init?(socket: Int32, pool: PoolThreads, counters: Counters) {
        let copy = sys_may_keep_open() ? sys_dup(socket) : -1
        guard copy >= 0 else { return nil }
        self.socket = copy
        self.pool = pool
        self.counters = counters
    }

    deinit { _ = sys_close(socket) }

    /// Sends a piece as a chunk, without waiting.
    ///
    /// RFC 9112 §7.1.
    /// - Returns: what the socket did not accept of the chunk; nil when it accepted all. After an error it accepts
    ///   nothing: the connection gets the error when it sends the rest.
    func send(_ piece: [UInt8]) -> [UInt8]? {
        let before = Array((String(piece.count, radix: 16) + "\r\n").utf8)
        let after: [UInt8] = [0x0D, 0x0A]
        let taken = unsafe max(
            0, sys_send_framed(socket, before, before.count, piece, piece.count, after, after.count))
        counters.sent(taken)
        guard taken < before.count + piece.count + after.count else { return nil }
        return Array((before + piece + after)[taken...])
    }
}
