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
    /// Sends as much of the body as the connection accepts now.
    func pump() {
        var budget = min(isSecure ? LoopTurns.securePortion : LoopTurns.portion, pace.piece)
        let isLimited = pace.isLimited
        let start = budget
        defer { if isLimited, start > budget { keepToRate(start - budget) } }
        while isAnswering, !isAnswered, canSend, pause == nil {
            guard budget > 0 else { return isLimited ? () : goOnLater() }
            switch outgoing {
            case .none: return
            case .bytes(let bytes, let from):
                let end = min(bytes.count, from + budget)
                outgoing = .bytes(bytes, from: end)
                unsafe bytes[from..<end].withUnsafeBytes { unsafe emit($0) }
                budget -= end - from
                if end == bytes.count { return finishAnswer() }
            case .file(var span, let isPiece):
                guard span.count > 0 else {
                    fileEnded(isPiece: isPiece)
                    continue
                }
                let before = span.offset
                let goesOn = sendPiece(&span, upTo: isLimited ? Int64(budget) : .max)
                budget -= Int(span.offset - before)
                if isPiece, span.offset > before { exchange?.sink.noteTaken() }
                guard goesOn else {
                    if case .file = outgoing { outgoing = .file(span, isPiece: isPiece) }
                    return
                }
                outgoing = .file(span, isPiece: isPiece)
                // A client that is slow to take the end of a file does not keep it open.
                if span.count == 0, !isPiece { return finishAnswer() }
            case .stream(let isChunked, let remaining):
                guard pumpStream(isChunked: isChunked, remaining: remaining, &budget) else { return }
            }
        }
    }

    /// Lets the task that writes a body send directly, once everything that it has written so far is sent.
    func lendOutlet() {
        guard case .stream(isChunked: true, remaining: nil) = outgoing, isAnswering, !isAnswered, phase == .exchange,
            socket >= 0, outstanding == 0, !pace.isLimited, let exchange
        else { return }
        exchange.sink.lend { Outlet(socket: socket, pool: engine.pool, counters: engine.counters) }
    }

    /// Waits if the bytes sent so far, `count` of them just now, were ahead of the rate limit.
    func keepToRate(_ count: Int) {
        let wait = pace.spend(count)
        guard wait > .zero else { return count > 0 ? goOnLater() : () }
        guard phase != .closed, pause == nil else { return }
        let bound = NIOLoopBound(self, eventLoop: loopState.loop)
        pause = loopState.loop.scheduleTask(in: TimeAmount(wait)) {
            bound.value.pause = nil
            bound.value.goOn()
        }
    }

    /// Continues in the loop's next turn.
    func goOnLater() {
        guard !isPumpScheduled else { return }
        isPumpScheduled = true
        loopState.turns.wait {
            self.isPumpScheduled = false
            self.goOn()
        }
    }

    private func pumpStream(isChunked: Bool, remaining: Int64?, _ budget: inout Int) -> Bool {
        guard let sink = exchange?.sink else { return false }
        switch sink.next(upTo: pace.isLimited ? budget : .max) {
        case .nothing: return false
        case .broken:
            breakOff()
            return false
        case .leftover(let bytes):
            unsafe bytes.withUnsafeBytes { unsafe emit($0) }
            budget -= bytes.count
            return true
        case .end(let sentAround):
            sentBytes &+= sentAround
            guard remaining ?? 0 == 0 else {
                breakOff()
                return false
            }
            if isChunked { loopState.out.append("0\r\n\r\n") }
            finishAnswer()
            return true
        case .piece(let piece):
            let count = piece.count
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
            if loopState.out.freeBytes < 1_024 { flush(more: true) }
            if isChunked {
                loopState.out.append(hexadecimal: Int(count))
                loopState.out.append("\r\n")
            }
            switch piece {
            case .bytes(let bytes):
                unsafe bytes.withUnsafeBytes { unsafe emit($0, end: isChunked ? "\r\n" : "") }
                budget -= bytes.count
            case .file(let entry, let range): outgoing = .file(FileSpan(entry, range), isPiece: true)
            }
            return true
        }
    }

    /// Begins to send a span of a file; a small one is sent together with its head.
    func send(_ span: FileSpan, isPiece: Bool) {
        let out = loopState.out
        if span.count <= copiedFile, !pace.isLimited {
            if Int(span.count) > out.freeBytes { flush(more: true) }
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
        if case .stream(true, _) = streamFraming { loopState.out.append("\r\n") }
    }

    /// Sends a piece of a file.
    /// - Returns: false when it has to wait for the socket or the disk, or everything has ended.
    private func sendPiece(_ span: inout FileSpan, upTo limit: Int64) -> Bool {
        guard span.isWarm() else {
            warm(span)
            return false
        }
        guard socket >= 0, !span.entry.isFar else {
            return copyPiece(&span, upTo: Int(min(limit, Int64(copiedPiece))))
        }
        flush(more: true)
        guard outstanding == 0, phase != .closed else { return false }
        let wanted = Int(min(span.count, span.warmUntil - span.offset, limit, span.packet))
        let count = sys_sendfile(socket, span.entry.descriptor, span.offset, wanted)
        if count == -Int(sys_again) { return keepRest(&span) }
        if count == -Int(sys_no_call) || count == -Int(sys_invalid) { return copyPiece(&span, upTo: 64 * 1_024) }
        guard count > 0 else {
            // The connection failed, or the file was truncated while it was being sent: it is never padded.
            breakOff()
            return false
        }
        engine.counters.sent(count)
        span.offset += Int64(count)
        return true
    }

    /// Passes something to the channel so that it waits until the socket accepts more; its completion continues here.
    ///
    /// A small rest is passed completely if there is memory for it, so that clients that read slowly do not keep a
    /// descriptor each; otherwise a small piece is.
    private func keepRest(_ span: inout FileSpan) -> Bool {
        let counted = max(0, Int(clamping: span.count) - SoftByteBudget.uncounted)
        guard span.count <= 64 * 1_024, engine.memory.answers.take(counted) else {
            return copyPiece(&span, upTo: SoftByteBudget.uncounted)
        }
        return copyPiece(&span, upTo: Int(span.count), counted: counted)
    }

    /// Reads a piece that is in memory and passes it to the channel; `counted` bytes were taken for it from the memory
    /// for answers.
    private func copyPiece(_ span: inout FileSpan, upTo limit: Int, counted: Int = 0) -> Bool {
        guard let context else {
            engine.memory.answers.give(counted)
            return false
        }
        flush(more: true)
        switch span.read(upTo: limit, with: context.channel.allocator) {
        case .bytes(let buffer):
            write(buffer, counted: counted)
            return true
        case .cold:
            engine.memory.answers.give(counted)
            warm(span)
            return false
        case .gone:
            engine.memory.answers.give(counted)
            breakOff()
            return false
        }
    }

    /// Makes a thread bring the next piece into memory, then continues.
    private func warm(_ span: FileSpan) {
        guard !isWarming else { return }
        isWarming = true
        let bound = NIOLoopBound(self, eventLoop: loopState.loop)
        span.warm(on: engine.threads(for: span.entry), loopState.loop, upTo: copiedPiece) { read in
            let connection = bound.value
            connection.isWarming = false
            connection.outgoing.markWarm(span, read)
            connection.goOn()
        }
    }

    /// Ends the connection in the middle of a body, so that nobody takes the part for the whole.
    private func breakOff() {
        flush(more: false)
        // If the body is delimited by the end of the connection, only a reset shows that it is incomplete.
        if socket >= 0, context?.channel.isActive == true {
            var choice = linger(l_onoff: 1, l_linger: 0)
            unsafe setsockopt(socket, SOL_SOCKET, SO_LINGER, &choice, socklen_t(MemoryLayout<linger>.size))
        }
        abort()
    }
}
