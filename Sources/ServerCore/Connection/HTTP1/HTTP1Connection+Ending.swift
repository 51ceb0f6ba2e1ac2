import NIOCore

/// How a connection ends.
extension HTTP1Connection {
    func drain() {
        switch phase {
        // Each head that is still read sees for itself that it is the last.
        case .head: if !parser.isInside, inbound.readableBytes == 0 { close() }
        // The end of the server waits for nobody who has all that is for him.
        case .lingering:
            // What he still sends is not waited for.
            lingersUntil = loopState.tick
            if isSecure, outstanding == 0 { abort() }
        default: closesAfter = closesAfter || !isAnswering
        }
    }

    func abort() {
        guard phase != .closed else { return }
        closeAtOnce()
        if phase != .closed { becomeClosed() }
    }

    /// Closes when all that was sent is on its way.
    func close() {
        guard phase != .closed else { return }
        flush(more: false)
        guard phase != .closed else { return }
        let isFirst = phase != .lingering
        // Over TLS the client is told, and what it still sends is read: its word that it ends too, for one.
        let isAwaited = isSecure && !isInputClosed && !engine.isShuttingDown && isFirst
        if outstanding > 0 || isAwaited {
            phase = .lingering
            if outstanding > 0 { timeTheReader() } else { setDeadline(engine.limits.lingerTime) }
            _ = holdHead(0)
        }
        // Of a peer that has ended its side, this would end all at once, and what waits for the socket would be lost.
        if isFirst, outstanding > 0 ? !isInputClosed : isSecure { context?.close(mode: .output, promise: nil) }
        guard outstanding > 0 || isAwaited else { return abort() }
        read()
    }

    /// Closes the socket.
    ///
    /// TLS would wait for its client to say that it ends too, for seconds, and keep its memory until they have passed,
    /// whatever comes: a quarter of a megabyte for each connection.
    func closeAtOnce() {
        if isSecure { context?.closeBelowTLS() } else { context?.close(promise: nil) }
    }

    func becomeClosed() {
        if phase == .exchange { recordBrokenOff() }
        phase = .closed
        if memberIndex >= 0 { engine.release(self, from: loopState) }
        socket = -1
        lease?.fail(.bodyBrokenOff)
        lease = nil
        endPipe(.failure(.bodyBrokenOff))
        exchange?.detach(cancelling: true)
        exchange = nil
        outgoing = .none
        inbound = ByteBuffer()
        _ = holdHead(0)
        releaseUnasked()
    }
}
