import CSyscalls
import NIOCore

extension HTTP1Connection {
    /// Bytes that a channel may hold before nothing more is given to it.
    ///
    /// On a plain connection it only ever holds what the socket did not take.
    private var channelLimit: Int { socket >= 0 ? 1 : copiedPiece }

    /// How much of a file is read into memory at once, where it can't be sent without.
    var copiedPiece: Int { engine.unsent.isCrowded || loopState.isCrowded ? 16 * 1_024 : 128 * 1_024 }

    /// Files up to this size are copied behind what is gathered; larger ones go by `sendfile`, where that can be had.
    ///
    /// At 16 KiB a copy costs as much as the other call; 100,000 answers of 64 KiB took 2.5 CPU seconds with copies and
    /// take 2.2 without.
    var copiedFile: Int64 { socket >= 0 || loopState.isCrowded ? 16 * 1_024 : 64 * 1_024 }

    var canSend: Bool { outstanding < channelLimit && phase != .closed }

    /// Sends bytes behind what was gathered; small ones are gathered too.
    func emit(_ bytes: UnsafeRawBufferPointer) {
        let out = loopState.out
        if bytes.count <= out.freeBytes {
            unsafe out.append(bytes)
        } else {
            flush(more: true)
            unsafe transmit(bytes, more: false)
        }
    }

    /// Sends a piece of a body and what ends it: gathered where that is cheaper than a call.
    func emit(_ piece: UnsafeRawBufferPointer, end: StaticString) {
        let out = loopState.out
        guard piece.count <= 16 * 1_024, piece.count + end.utf8CodeUnitCount <= out.freeBytes else {
            return unsafe transmit(piece, end: end)
        }
        unsafe out.append(piece)
        out.append(end)
    }

    /// Sends what was gathered.
    func flush(more: Bool) {
        let out = loopState.out
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
        queue(rest.count, context) { buffer in unsafe buffer.writeBytes(rest) }
    }

    /// Sends what was gathered, a piece that is too large to be gathered, and what ends it, in one go.
    private func transmit(_ piece: UnsafeRawBufferPointer, end: StaticString) {
        let out = loopState.out
        defer { out.clear() }
        guard phase != .closed, let context, context.channel.isActive else { return }
        let endBytes = unsafe UnsafeRawBufferPointer(start: end.utf8Start, count: end.utf8CodeUnitCount)
        var sent = 0
        if socket >= 0, outstanding == 0 {
            let count = unsafe sys_send_framed(
                socket, out.bytes.baseAddress, out.count, piece.baseAddress, piece.count, endBytes.baseAddress,
                endBytes.count)
            guard count > 0 || count == -Int(sys_again) else { return abort() }
            sent = max(0, count)
            engine.counters.sent(sent)
        }
        let total = out.count + piece.count + endBytes.count
        guard sent < total else { return }
        queue(total - sent, context) { buffer in
            func write(_ part: UnsafeRawBufferPointer) {
                let skipped = min(sent, part.count)
                sent -= skipped
                unsafe buffer.writeBytes(UnsafeRawBufferPointer(rebasing: part[skipped...]))
            }
            unsafe write(out.bytes)
            unsafe write(piece)
            unsafe write(endBytes)
        }
    }

    /// Gives the channel what the socket did not take, unless too much lies there already.
    private func queue(_ count: Int, _ context: ChannelHandlerContext, _ fill: (inout ByteBuffer) -> Void) {
        let counted = max(0, count - SoftByteBudget.uncounted)
        guard
            counted == 0 || engine.answers.take(counted) || loopState.shedStalled() > 0 && engine.answers.take(counted)
        else { return abort() }
        var buffer = context.channel.allocator.buffer(capacity: count)
        fill(&buffer)
        write(buffer, counted: counted)
    }

    /// Gives bytes to the channel, and goes on when it has got rid of them.
    func write(_ buffer: ByteBuffer, counted: Int = 0) {
        guard let context else { return engine.answers.give(counted) }
        let count = buffer.readableBytes
        // Until now the socket took all.
        if outstanding == 0 { lastActivity = loopState.tick }
        outstanding += count
        kept += counted
        if isSecure {
            if engine.unsent.isFull { loopState.shedStalled() }
            engine.unsent.hold(count)
        }
        // Between requests the time that runs is that of an idle client.
        if deadline == .max || phase == .head { timeTheReader() }
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
        lastActivity = loopState.tick
        engine.counters.sent(count)
        if outstanding > 0 {
            timeTheReader()
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
}
