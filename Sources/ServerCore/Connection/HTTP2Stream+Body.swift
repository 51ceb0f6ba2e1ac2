import NIOCore
import NIOHTTP2

extension HTTP2Stream {
    func take(_ buffer: ByteBuffer) {
        let count = buffer.readableBytes
        engine.counters.received(count)
        guard let pipe, !isAnswering, count > 0 else { return }
        owesContinue = false
        received &+= Int64(count)
        if let limit = engine.limits.bodyBytes, received > limit {
            return finishPipe(.failure(.bodyTooLarge))
        }
        pipe.push(Array(buffer.readableBytesView))
        // As long as its reader has enough, nobody waits for the client.
        if pipe.isWanted { setDeadline(engine.limits.bodyStallTime) } else { deadline = .max }
    }

    /// Opens the window for what comes after `count` bytes, where the body is a long one.
    func openWindow(by count: Int) {
        guard count > 0, pipe != nil, !isAnswering, !isOver else { return }
        let increment = window.increment(after: count, of: received, engine.windows)
        guard increment > 0 else { return }
        context?.writeAndFlush(
            wrapOutboundOut(.windowUpdate(windowSizeIncrement: increment)), promise: nil)
        window.open()
    }

    func endBody() {
        isBodyDone = true
        owesReset = false
        if !isAnswering { deadline = .max }
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
        // Where much waits for other readers, this one has to take what it has before more is read.
        if pipe?.isWanted == true { setDeadline(engine.limits.bodyStallTime) }
        readIfUseful()
    }

    func lendSocket(to exchange: Exchange) -> (SocketLease, HTTP1Connection.Incoming)? { nil }

    func takeBack(_ lease: SocketLease, from exchange: Exchange, _ body: LeasedBody) {}

    /// Goes on with what came while access was being decided.
    func takeHeld() {
        let payloads = held ?? []
        held = nil
        for payload in payloads {
            switch payload {
            case .headers(let block): if block.endStream { endBody() }
            case .data(let frame):
                if case .byteBuffer(let buffer) = frame.data { take(buffer) }
                if frame.endStream { endBody() }
            default: break
            }
        }
        readIfUseful()
    }
}
