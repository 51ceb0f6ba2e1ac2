import NIOCore

extension Exchange {
    /// Receives the rest of the body straight from the socket, where the connection allows it.
    ///
    /// The pieces are only good within `consume`.
    /// - Returns: false when the connection cannot lend its socket; nothing was read then.
    func receiveDirectly(
        draining pipe: BodyPipe, _ consume: (UnsafeRawBufferPointer) throws -> Void
    ) async throws -> Bool {
        guard let (lease, incoming) = await borrowSocket() else { return false }
        var reader = LeasedBody(incoming: incoming, limit: engine.limits.bodyBytes)
        do {
            // What had come before the socket was lent.
            while let bytes = try pipe.takeReady() {
                try unsafe bytes.withUnsafeBytes(consume)
                try await pace.wait(after: bytes.count)
            }
            try unsafe await receive(lease, &reader, consume)
        } catch {
            giveBack(lease, reader)
            throw error
        }
        giveBack(lease, reader)
        return true
    }

    private func receive(
        _ lease: SocketLease, _ reader: inout LeasedBody, _ consume: (UnsafeRawBufferPointer) throws -> Void
    ) async throws {
        var burst = 0
        var scratch: ScratchBuffers.Scratch?
        defer { if let scratch { engine.scratch.giveBack(scratch) } }
        while !reader.isDone {
            let taken = scratch ?? engine.scratch.take()
            scratch = taken
            let buffer = unsafe taken.bytes
            switch try unsafe lease.look(into: buffer, limit: reader.wanted) {
            case .bytes(let count):
                engine.counters.received(count)
                try unsafe reader.take(UnsafeRawBufferPointer(rebasing: buffer[..<count]), consume)
                burst += count
                let isLong = burst > 8 * 1_024 * 1_024
                guard isLong || pace.isLimited else { continue }
                // Who waits holds no memory: thousands may.
                engine.scratch.giveBack(taken)
                scratch = nil
                try await pace.wait(after: count)
                // A share of the thread, then others' turn.
                if isLong {
                    burst = 0
                    await Task.yield()
                }
            case .mail(let bytes):
                try unsafe bytes.withUnsafeBytes { try unsafe reader.take($0, consume) }
                try await pace.wait(after: bytes.count)
            case .nothing:
                let isFast = burst >= 64 * 1_024
                burst = 0
                if isFast, lease.waitBriefly() {
                    burst = 64 * 1_024
                    continue
                }
                engine.scratch.giveBack(taken)
                scratch = nil
                try await lease.wait(for: reader.wanted) { self.bodyWanted() }
            case .end:
                reader.isBroken = true
                throw HTTPError.bodyBrokenOff
            }
        }
    }

    private func borrowSocket() async -> (SocketLease, HTTP1Connection.Incoming)? {
        await withCheckedContinuation { continuation in
            loop.execute {
                continuation.resume(returning: self.isDetached ? nil : self.carrier?.lendSocket(to: self))
            }
        }
    }

    private func giveBack(_ lease: SocketLease, _ reader: LeasedBody) {
        onLoop { $0.takeBack(lease, from: self, reader) }
    }
}

/// A body as its task takes it apart, and what it received beyond the end.
struct LeasedBody {
    private(set) var incoming: HTTP1Connection.Incoming
    private(set) var leftover: [UInt8] = []
    var isBroken = false
    private var received: Int64 = 0
    private let limit: Int64?

    init(incoming: HTTP1Connection.Incoming, limit: Int64?) {
        self.incoming = incoming
        self.limit = limit
    }

    var isDone: Bool {
        if case .none = incoming { return true }
        return false
    }

    /// How much may be received at once: not a byte beyond a counted body.
    var wanted: Int64 {
        if case .counted(let remaining) = incoming { return remaining }
        return .max
    }

    mutating func take(
        _ bytes: UnsafeRawBufferPointer, _ consume: (UnsafeRawBufferPointer) throws -> Void
    ) throws {
        switch incoming {
        case .none: unsafe leftover.append(contentsOf: bytes)
        case .counted(let remaining):
            let count = Int(min(Int64(bytes.count), remaining))
            incoming = remaining == Int64(count) ? .none : .counted(remaining - Int64(count))
            unsafe leftover.append(contentsOf: bytes[count...])
            try unsafe consume(UnsafeRawBufferPointer(rebasing: bytes[..<count]))
        case .chunked(var decoder):
            try unsafe takeChunks(bytes, &decoder, consume)
        }
    }

    /// Smaller chunks are joined: a call for each would let one peer take the disk with bodies of single bytes.
    private static let smallChunk = 4_096

    private static func giveAll(
        _ joined: inout [UInt8], _ consume: (UnsafeRawBufferPointer) throws -> Void
    ) throws {
        guard !joined.isEmpty else { return }
        try unsafe joined.withUnsafeBytes(consume)
        joined.removeAll(keepingCapacity: true)
    }

    private mutating func takeChunks(
        _ bytes: UnsafeRawBufferPointer, _ decoder: inout HTTP1ChunkDecoder,
        _ consume: (UnsafeRawBufferPointer) throws -> Void
    ) throws {
        var index = 0
        var joined: [UInt8] = []
        do {
            while let span = try unsafe decoder.next(bytes, from: &index) {
                incoming = .chunked(decoder)
                received &+= Int64(span.count)
                if let limit, received > limit {
                    throw HTTPError.bodyTooLarge
                }
                if span.count < Self.smallChunk {
                    unsafe joined.append(contentsOf: bytes[span])
                    continue
                }
                try unsafe Self.giveAll(&joined, consume)
                try unsafe consume(UnsafeRawBufferPointer(rebasing: bytes[span]))
            }
            try unsafe Self.giveAll(&joined, consume)
        } catch {
            // Whatever else these bytes hold is lost, and with it the place where the next request begins.
            isBroken = true
            throw error
        }
        incoming = decoder.isDone ? .none : .chunked(decoder)
        unsafe leftover.append(contentsOf: bytes[index...])
    }
}

extension HTTP1Connection {
    func lendSocket(to exchange: Exchange) -> (SocketLease, Incoming)? {
        guard exchange === self.exchange, phase == .exchange, socket >= 0, !isAnswering, lease == nil, !isInputClosed,
            inbound.readableBytes == 0, let context, context.channel.isActive
        else { return nil }
        switch incoming {
        case .none: return nil
        case .counted(let remaining):
            // A small rest has come by the time the socket is lent.
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
        // Only fails on a closed channel, which is noticed anyway.
        try? context?.channel.syncOptions?.setOption(.recvAllocator, value: Self.receiveAllocator)
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

    /// Small while a connection is idle: each keeps the buffer of its last read.
    static let receiveAllocator = AdaptiveRecvByteBufferAllocator(minimum: 1_024, initial: 2_048, maximum: 16_384)

    func sendContinue() {
        guard owesContinue else { return }
        owesContinue = false
        room.out.append("HTTP/1.1 100 Continue\r\n\r\n")
        flush(more: false)
    }
}
