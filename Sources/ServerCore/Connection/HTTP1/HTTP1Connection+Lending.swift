import NIOCore

extension HTTP1Connection {
    func lendSocket(to exchange: Exchange) -> (SocketLease, IncomingBody)? {
        guard exchange === self.exchange, phase == .exchange, socket >= 0, !isAnswering, lease == nil, !isInputClosed,
            inbound.readableBytes == 0, let context, context.channel.isActive
        else { return nil }
        switch incoming {
        case .none: return nil
        case .counted(let remaining):
            // A small rest has arrived by the time the socket is lent.
            guard remaining >= 64 * 1_024 else { return nil }
        case .chunked: break
        }
        guard let lease = SocketLease(socket: socket, loopReads: hasReadPending) else { return nil }
        do {
            try context.channel.syncOptions?.setOption(.recvAllocator, value: LeasedReceiveAllocator(lease: lease))
        } catch {
            return nil
        }
        self.lease = lease
        deadline = .max
        if hasReadPending { setDeadline(engine.limits.bodyStallTime) }
        sendContinue()
        return (lease, incoming)
    }

    func takeBack(_ lease: SocketLease, from exchange: Exchange, _ body: LeasedBody) {
        guard lease === self.lease else { return }
        self.lease = nil
        read(by: Self.receiveAllocator)
        deadline = .max
        incoming = body.isBroken ? .none : body.incoming
        if body.isBroken {
            isBodyBroken = true
            closesAfter = true
        } else {
            inbound.clear()
            inbound.writeBytes(body.leftover)
            inbound.writeBytes(lease.takeMail())
        }
        endPipe(.success(()))
        work()
        readIfUseful()
    }

    func sendContinue() {
        guard owesContinue else { return }
        owesContinue = false
        loopState.out.append("HTTP/1.1 100 Continue\r\n\r\n")
        flush(more: false)
    }
}
