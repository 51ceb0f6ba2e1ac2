import CSyscalls
import NIOCore

extension HTTP1Connection {
    /// How many bytes a channel may hold before nothing more is passed to it.
    ///
    /// On a plain connection it holds only what the socket did not accept.
    private var channelLimit: Int { socket >= 0 ? 1 : copiedPiece }

    /// How much of a file is read into memory in one step, when it has to be.
    var copiedPiece: Int { engine.memory.unsent.isCrowded || loopState.isCrowded ? 16 * 1_024 : 128 * 1_024 }

    /// Files up to this size are copied into the output buffer; larger ones are sent by `sendfile`, if possible.
    ///
    /// At 16 KiB a copy costs as much as the other system call; 100,000 responses of 64 KiB took 2.5 CPU seconds with
    /// copies, and take 2.2 without.
    var copiedFile: Int64 { socket >= 0 || loopState.isCrowded ? 16 * 1_024 : 64 * 1_024 }

    var canSend: Bool { outstanding < channelLimit && phase != .closed }

    /// Sends bytes after those in the output buffer; small ones are buffered too.
    func emit(_ bytes: UnsafeRawBufferPointer) {
        let out = loopState.out
        if bytes.count <= out.freeBytes {
            unsafe out.append(bytes)
        } else {
            flush(more: true)
            unsafe transmit(bytes, more: false)
        }
    }

    /// Sends a piece of a body and its terminator: buffered if that is cheaper than a system call.
    func emit(_ piece: UnsafeRawBufferPointer, end: StaticString) {
        let out = loopState.out
        guard piece.count <= 16 * 1_024, piece.count + end.utf8CodeUnitCount <= out.freeBytes else {
            return unsafe transmit(piece, end: end)
        }
        unsafe out.append(piece)
        out.append(end)
    }

    /// Sends the output buffer.
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

    /// Sends the output buffer, a piece that is too large for it, and the terminator, in one call.
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

    /// Passes to the channel what the socket did not accept, unless it holds too much already.
    private func queue(_ count: Int, _ context: ChannelHandlerContext, _ fill: (inout ByteBuffer) -> Void) {
        let counted = max(0, count - SoftByteBudget.uncounted)
        let memory = engine.memory.answers
        guard counted == 0 || memory.take(counted) || loopState.shedStalled() > 0 && memory.take(counted)
        else { return abort() }
        guard sender != nil, count <= 128 * 1_024 else {
            var buffer = context.channel.allocator.buffer(capacity: count)
            fill(&buffer)
            return write(buffer, counted: counted)
        }
        // TLS encrypts it at once.
        var buffer = loopState.plaintext
        loopState.plaintext = ByteBuffer()
        buffer.clear()
        fill(&buffer)
        write(buffer, counted: counted)
        loopState.plaintext = buffer
    }

    /// Passes bytes to the channel, and continues once they are written.
    func write(_ buffer: ByteBuffer, counted: Int = 0) {
        guard let context else { return engine.memory.answers.give(counted) }
        let count = buffer.readableBytes
        // Until now the socket accepted everything.
        if outstanding == 0 { lastActivity = loopState.tick }
        if let sender { return encrypt(buffer, counted: counted, context, sender) }
        hold(count, counted: counted)
        let promise = context.eventLoop.makePromise(of: Void.self)
        let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
        promise.futureResult.whenComplete { bound.value.socketAccepted(count, counted: counted, $0) }
        context.writeAndFlush(wrapOutboundOut(buffer), promise: promise)
    }

    /// Passes bytes to TLS, in small portions if they are more than a piece of a file.
    ///
    /// TLS keeps a buffer as large as the most that a connection has flushed at once, and a listing of a third of a
    /// megabyte is sent whole. Pieces of files are not divided, since each portion is a system call: they are small
    /// themselves where there are many connections.
    private func encrypt(_ buffer: ByteBuffer, counted: Int, _ context: ChannelHandlerContext, _ sender: TLSSender) {
        let count = buffer.readableBytes
        var rest = buffer
        if count > copiedPiece {
            while rest.readableBytes > TLSPortion.size, let portion = rest.readSlice(length: TLSPortion.size) {
                context.writeAndFlush(wrapOutboundOut(portion), promise: nil)
            }
        }
        context.writeAndFlush(wrapOutboundOut(rest), promise: nil)
        // This may end this very connection, and what it is to hold then would never be given back.
        if sender.held > 0, engine.memory.unsent.isFull { loopState.shedStalled() }
        guard sender.held > 0, phase != .closed else {
            engine.counters.sent(count)
            return engine.memory.answers.give(counted)
        }
        engine.memory.unsent.hold(count)
        hold(count, counted: counted)
    }

    private func hold(_ count: Int, counted: Int) {
        outstanding += count
        kept += counted
        // Between requests, the time limit is that of an idle client.
        if deadline == .max || phase == .head { timeTheReader() }
    }

    /// The socket has accepted bytes that were passed to the channel, or never will.
    func socketAccepted(_ count: Int, counted: Int, _ result: Result<Void, any Error>) {
        outstanding -= count
        kept -= counted
        engine.memory.answers.give(counted)
        if isSecure { engine.memory.unsent.give(count) }
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
        if awaitsSending { goOnLater() }
    }

    /// Whether anything can go on once the socket has accepted what was passed to the channel.
    ///
    /// Between two requests, it is the client's turn: whoever ends an exchange reads afterwards.
    private var awaitsSending: Bool { phase != .head || inbound.readableBytes > 0 || isInputClosed }

    /// Continues to send, and then with the requests that wait.
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
