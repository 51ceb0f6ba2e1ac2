import CSyscalls
import DirectoryRoot
import NIOCore

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

extension HTTP1Connection {
    /// Bytes that a channel may hold before nothing more is given to it.
    ///
    /// On a plain connection it only ever holds what the
    /// socket did not take.
    private var channelLimit: Int { socket >= 0 ? 1 : copiedPiece }

    /// How much of a file is read into memory at once, where it can't be sent without.
    private var copiedPiece: Int { engine.unsent.isCrowded ? 16 * 1_024 : 128 * 1_024 }

    var canSend: Bool { outstanding < channelLimit && phase != .closed }

    // MARK: - Bytes

    /// Sends bytes behind what was gathered; small ones are gathered too.
    func emit(_ bytes: UnsafeRawBufferPointer) {
        let out = room.out
        if bytes.count <= out.room {
            unsafe out.append(bytes)
        } else {
            flush(more: true)
            unsafe transmit(bytes, more: false)
        }
    }

    /// Sends what was gathered.
    func flush(more: Bool) {
        let out = room.out
        guard out.count > 0 else { return }
        unsafe transmit(out.bytes, more: more)
        out.clear()
    }

    func transmit(_ bytes: UnsafeRawBufferPointer, more: Bool) {
        guard phase != .closed, let context, context.channel.isActive else { return }
        var rest = unsafe bytes
        if socket >= 0, outstanding == 0 {
            while unsafe !rest.isEmpty {
                let count = unsafe sys_send(socket, rest.baseAddress, rest.count, more ? 1 : 0)
                guard count > 0 else {
                    if count == -Int(sys_again) { break }
                    return abort()
                }
                engine.counters.sent(count)
                unsafe rest = unsafe UnsafeRawBufferPointer(rebasing: rest[count...])
            }
        }
        guard unsafe !rest.isEmpty else { return }
        let counted = max(0, rest.count - AnswerMemory.free)
        guard counted == 0 || engine.answers.take(counted) || room.shedStalled() > 0 && engine.answers.take(counted)
        else { return abort() }
        var buffer = context.channel.allocator.buffer(capacity: rest.count)
        unsafe buffer.writeBytes(rest)
        write(buffer, counted: counted)
    }

    /// Gives bytes to the channel, and goes on when it has got rid of them.
    private func write(_ buffer: ByteBuffer, counted: Int = 0) {
        guard let context else { return engine.answers.give(counted) }
        let count = buffer.readableBytes
        outstanding += count
        kept += counted
        if isSecure {
            if engine.unsent.isFull { room.shedStalled() }
            engine.unsent.hold(count)
        }
        if deadline == .max { setDeadline(engine.limits.readerStallTime) }
        let promise = context.eventLoop.makePromise(of: Void.self)
        let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
        promise.futureResult.whenComplete { result in bound.value.written(count, counted: counted, result) }
        context.writeAndFlush(wrapOutboundOut(buffer), promise: promise)
    }

    private func written(_ count: Int, counted: Int, _ result: Result<Void, any Error>) {
        outstanding -= count
        kept -= counted
        engine.answers.give(counted)
        if isSecure { engine.unsent.give(count) }
        guard phase != .closed else { return }
        guard case .success = result else { return abort() }
        lastActivity = room.tick
        engine.counters.sent(count)
        if outstanding > 0 {
            setDeadline(engine.limits.readerStallTime)
        } else {
            timeThePeer()
        }
        // This may be called from within a write.
        goOnLater()
    }

    /// Goes on sending, and with what waits behind it.
    func goOn() {
        guard phase != .closed else { return }
        pump()
        work()
        readIfUseful()
    }

    func pump(_ exchange: Exchange) {
        guard exchange === self.exchange else { return }
        goOn()
    }

    // MARK: - Bodies

    /// Sends of the body what the connection takes now.
    func pump() {
        // A share of one turn; others wait for their turn too.
        var budget = min(8 * 1_024 * 1_024, pace.piece)
        let isLimited = pace.isLimited
        let start = budget
        defer { if isLimited, start > budget { keepToRate(start - budget) } }
        while isAnswering, !isAnswered, canSend, !isPaused {
            guard budget > 0 else { return isLimited ? () : goOnLater() }
            switch outgoing {
            case .none: return
            case .file(var span, let isPiece):
                guard span.count > 0 else {
                    fileEnded(isPiece: isPiece)
                    continue
                }
                let before = span.offset
                let goesOn = sendPiece(&span, upTo: isLimited ? Int64(budget) : .max)
                budget -= Int(span.offset - before)
                guard goesOn else {
                    if case .file = outgoing { outgoing = .file(span, isPiece: isPiece) }
                    return
                }
                outgoing = .file(span, isPiece: isPiece)
            case .stream(let isChunked, let remaining):
                guard pumpStream(isChunked: isChunked, remaining: remaining, &budget) else { return }
            }
        }
    }

    /// Waits where the bytes just sent came too early.
    private func keepToRate(_ count: Int) {
        let wait = pace.spend(count)
        guard wait > .zero else { return goOnLater() }
        isPaused = true
        let bound = NIOLoopBound(self, eventLoop: room.loop)
        room.loop.scheduleTask(in: TimeAmount(wait)) {
            bound.value.isPaused = false
            bound.value.goOn()
        }
    }

    /// Goes on in the loop's next turn.
    private func goOnLater() {
        guard !isPumpScheduled else { return }
        isPumpScheduled = true
        let bound = NIOLoopBound(self, eventLoop: room.loop)
        room.loop.execute {
            let connection = bound.value
            connection.isPumpScheduled = false
            connection.goOn()
        }
    }

    private func pumpStream(isChunked: Bool, remaining: Int64?, _ budget: inout Int) -> Bool {
        guard let sink = exchange?.sink else { return false }
        switch sink.next() {
        case .nothing: return false
        case .broken:
            breakOff()
            return false
        case .end:
            guard remaining ?? 0 == 0 else {
                breakOff()
                return false
            }
            if isChunked { room.out.append("0\r\n\r\n") }
            finishAnswer()
            return true
        case .piece(let piece):
            let count: Int64
            switch piece {
            case .bytes(let bytes): count = Int64(bytes.count)
            case .file(_, let range): count = Int64(range.count)
            }
            guard count > 0 else { return true }
            if let remaining {
                guard count <= remaining else {
                    breakOff()
                    return false
                }
                outgoing = .stream(isChunked: isChunked, remaining: remaining - count)
            }
            sentBytes &+= count
            streamFraming = outgoing
            if room.out.room < 1_024 { flush(more: true) }
            if isChunked {
                room.out.append(hexadecimal: Int(count))
                room.out.append("\r\n")
            }
            switch piece {
            case .bytes(let bytes):
                unsafe bytes.withUnsafeBytes { unsafe emit($0) }
                budget -= bytes.count
                if isChunked {
                    if room.out.room < 2 { flush(more: true) }
                    room.out.append("\r\n")
                }
            case .file(let entry, let range): outgoing = .file(FileSpan(entry, range), isPiece: true)
            }
            return true
        }
    }

    /// Begins to send a file's span; a small one goes out with its head in one piece.
    func send(_ span: FileSpan, isPiece: Bool) {
        let out = room.out
        if span.count <= 64 * 1_024, !pace.isLimited {
            if Int(span.count) > out.room { flush(more: true) }
            let count = unsafe span.entry.peek(out.free.baseAddress, Int(span.count), at: span.offset)
            if count == Int(span.count) {
                out.advance(by: count)
                return fileEnded(isPiece: isPiece)
            }
        }
        outgoing = .file(span, isPiece: isPiece)
        pump()
    }

    private func fileEnded(isPiece: Bool) {
        guard isPiece else { return finishAnswer() }
        outgoing = streamFraming
        if case .stream(true, _) = streamFraming { room.out.append("\r\n") }
    }

    /// Sends a piece of a file.
    /// - Returns: false when to wait: for the socket, for the disk, or because all is over.
    private func sendPiece(_ span: inout FileSpan, upTo limit: Int64) -> Bool {
        guard span.isWarm() else {
            warm(span)
            return false
        }
        guard socket >= 0 else { return copyPiece(&span, upTo: Int(min(limit, Int64(copiedPiece)))) }
        flush(more: true)
        guard outstanding == 0, phase != .closed else { return false }
        let wanted = Int(min(span.count, span.warmUntil - span.offset, limit, FileSpan.packet(at: span.offset)))
        let count = sys_sendfile(socket, span.entry.descriptor, span.offset, wanted)
        if count == -Int(sys_again) {
            // The channel waits for room with a small piece of its own; its completion brings us back.
            return copyPiece(&span, upTo: 16 * 1_024)
        }
        if count == -Int(sys_no_call) || count == -Int(sys_invalid) { return copyPiece(&span, upTo: 64 * 1_024) }
        guard count > 0 else {
            // A failed connection, or the file was cut while it was sent: never padded.
            breakOff()
            return false
        }
        engine.counters.sent(count)
        span.offset += Int64(count)
        return true
    }

    /// Reads a piece that is in memory and gives it to the channel.
    private func copyPiece(_ span: inout FileSpan, upTo limit: Int) -> Bool {
        guard let context else { return false }
        flush(more: true)
        switch span.read(upTo: limit, with: context.channel.allocator) {
        case .bytes(let buffer):
            write(buffer)
            return true
        case .cold:
            warm(span)
            return false
        case .gone:
            breakOff()
            return false
        }
    }

    /// Has a thread bring the next piece into memory, then goes on.
    private func warm(_ span: FileSpan) {
        guard !isWarming else { return }
        isWarming = true
        let bound = NIOLoopBound(self, eventLoop: room.loop)
        span.warm(on: engine.pool, room.loop) {
            let connection = bound.value
            connection.isWarming = false
            connection.outgoing.markWarm(span)
            connection.goOn()
        }
    }

    /// Ends the connection within a body, so that nobody takes the part for the whole.
    private func breakOff() {
        flush(more: false)
        // Where the end of the connection is the end of the body, only a reset says that this is neither.
        if socket >= 0, context?.channel.isActive == true {
            var choice = linger(l_onoff: 1, l_linger: 0)
            unsafe setsockopt(socket, SOL_SOCKET, SO_LINGER, &choice, socklen_t(MemoryLayout<linger>.size))
        }
        if isSecure { context?.closeBelowTLS() }
        abort()
    }
}
