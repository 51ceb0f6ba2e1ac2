import NIOCore
import NIOHTTP2

/// What was received of a body that has no reader yet.
struct HeldBody {
    var bytes: [UInt8] = []
    var isWhole = false
}

extension HTTP2Stream {
    /// Takes a piece of the body by copying it out of the frame layer's buffer.
    ///
    /// A small piece would otherwise keep everything that was read from the socket with it.
    func take(_ frame: HTTP2Frame.FramePayload.Data) {
        guard case .byteBuffer(let buffer) = frame.data else { return }
        engine.counters.received(buffer.readableBytes)
        window.take(buffer.readableBytes, padding: frame.paddingBytes.map { $0 + 1 } ?? 0)
        if held == nil { take(Array(buffer.readableBytesView)) } else { hold(buffer) }
        if frame.endStream { endBody() } else { openWindow() }
    }

    private func take(_ bytes: [UInt8]) {
        received &+= Int64(bytes.count)
        guard let pipe, !isAnswering, !bytes.isEmpty else { return }
        owesContinue = false
        if let limit = engine.limits.bodyBytes, received > limit {
            return finishPipe(.failure(.bodyTooLarge))
        }
        guard !pipe.isExcess(bytes.count) else { return finishPipe(.failure(ByteBudget.refusal)) }
        // Until its reader has taken everything, nobody waits for the client.
        deadline = .max
        pipe.push(bytes)
    }

    private func hold(_ buffer: ByteBuffer) {
        let count = buffer.readableBytes
        if engine.memory.waitingBodies.isFull, (held?.bytes.count ?? 0) + count > SoftByteBudget.uncounted {
            return reset(.refusedStream)
        }
        engine.memory.waitingBodies.hold(count)
        held?.bytes += buffer.readableBytesView
    }

    /// Opens the window for what the reader has taken, or nobody wants.
    func openWindow() {
        guard hasHead, held == nil, !isBodyDone, !isOver else { return }
        guard let waiting = isAnswering ? 0 : pipe?.backlog else { return }
        let increment = window.increment(
            waiting: waiting, rest: head.contentLength.map { $0 - received },
            isCrowded: engine.memory.waitingBodies.isCrowded, connection.windows)
        guard increment > 0 else { return }
        context?.writeAndFlush(wrapOutboundOut(.windowUpdate(windowSizeIncrement: increment)), promise: nil)
    }

    func endBody() {
        guard held == nil else {
            held?.isWhole = true
            return
        }
        isBodyDone = true
        window.close(connection.windows)
        owesReset = false
        if !isAnswering { deadline = .max }
        // The reader may have had the client wait, which has gone meanwhile.
        if received >= Exchange.longBody, connection.channel?.hasHungUp == true { exchange?.noteInputEnd() }
        finishPipe(.success(()))
    }

    func finishPipe(_ end: Result<Void, HTTPError>) {
        let ended = pipe
        pipe = nil
        ended?.finish(end)
    }

    func readBody(of exchange: Exchange) {
        guard exchange === self.exchange, !isBodyDone, !isAnswering else { return }
        if owesContinue {
            owesContinue = false
            inform(.continue, ResponseFields(), of: exchange)
        }
        if pipe?.isAwaited == true { setDeadline(engine.limits.bodyStallTime) }
        openWindow()
    }

    func lendSocket(to exchange: Exchange) -> (SocketLease, IncomingBody)? { nil }

    func takeBack(_ lease: SocketLease, from exchange: Exchange, _ body: LeasedBody) {}

    /// Continues with what was received while access was being decided.
    func takeHeld() {
        guard let held = letGo() else { return }
        take(held.bytes)
        if held.isWhole { endBody() } else { openWindow() }
    }

    /// Removes what was held, and stops counting it.
    func letGo() -> HeldBody? {
        guard let held else { return nil }
        engine.memory.waitingBodies.give(held.bytes.count)
        self.held = nil
        return held
    }
}
