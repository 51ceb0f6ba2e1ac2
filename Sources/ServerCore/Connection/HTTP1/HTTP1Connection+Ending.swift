import NIOCore

/// How a connection ends.
extension HTTP1Connection {
    func drain() {
        switch phase {
        // Each head that is still parsed finds out by itself that it is the last.
        case .head: if !parser.isInside, inbound.readableBytes == 0 { close() }
        // Shutting down does not wait for a client that has received its whole answer.
        case .lingering:
            // Do not wait for what it still sends.
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

    /// Closes once everything that was sent is on its way.
    func close() {
        guard phase != .closed else { return }
        flush(more: false)
        guard phase != .closed else { return }
        let isFirst = phase != .lingering
        // Over TLS, close_notify is sent, and what the client still sends is read, such as its own close_notify.
        let isAwaited = isSecure && !isInputClosed && !engine.isShuttingDown && isFirst
        if outstanding > 0 || isAwaited {
            phase = .lingering
            if outstanding > 0 { timeTheReader() } else { setDeadline(engine.limits.lingerTime) }
            _ = holdHead(0)
        }
        // If the peer has already ended its side, this would end everything immediately, and what waits for the socket
        // would be lost.
        if isFirst, outstanding > 0 ? !isInputClosed : isSecure { context?.close(mode: .output, promise: nil) }
        guard outstanding > 0 || isAwaited else { return abort() }
        read()
    }

    /// Closes the socket immediately.
    ///
    /// TLS would wait some seconds for its client's close_notify, and keep its memory until they have passed, whatever
    /// arrives: a quarter of a megabyte for each connection.
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
        pause?.cancel()
        pause = nil
        held.give(to: engine.memory.answers)
        inbound = ByteBuffer()
        _ = holdHead(0)
        releaseUnasked()
        releaseWide()
    }
}
