import DirectoryRoot
import NIOCore
import NIOHPACK
import NIOHTTP2

extension HTTP2Stream {
    func respond(_ response: Response, to exchange: Exchange) {
        guard exchange === self.exchange else { return }
        loopState.forgetComposed()
        respond(response)
    }

    func inform(_ status: Status, _ fields: ResponseFields, of exchange: Exchange) {
        guard exchange === self.exchange, !isAnswering, !isOver, let context else { return }
        var headers = HPACKHeaders()
        headers.add(name: ":status", value: String(status.code))
        for line in fields.lines {
            headers.add(name: line.name.lowercased(), value: line.value, indexing: .nonIndexable)
        }
        context.writeAndFlush(wrapOutboundOut(.headers(.init(headers: headers))), promise: nil)
    }

    /// Fields with few different values, which are put into the connection's HPACK table.
    ///
    /// A client may request a table of gigabytes, which is searched for every field. RFC 7541 §4.2.
    private static let recurring: Set<String> = [
        "accept-ranges", "cache-control", "content-encoding", "content-security-policy", "content-type",
        "referrer-policy", "strict-transport-security", "vary", "x-content-type-options", "x-frame-options",
    ]

    func respond(_ plain: Response) {
        guard !isAnswering, !isOver, let context else { return }
        isAnswering = true
        deadline = .max
        // The client may read nothing before it has sent everything.
        openWindow()
        var response = plain
        if let view, plain.status == .forbidden { response = engine.access.challenged(plain, for: view) }
        if pace.isLimited {
            if !isHeadOnly {
                let taken = HeldAnswer.take(response.body, to: head.method, of: loopState, engine.memory.answers)
                heldAnswer = taken ?? HeldAnswer()
                if taken == nil { response = Response(HeldAnswer.refusal) }
            }
            // Room may have been made by closing this connection.
            guard !isOver else { return heldAnswer.give(to: engine.memory.answers) }
            // Each response is paid for by the next one, and the first has its turn too.
            keepToRate(0)
        }
        if let view {
            engine.access.addFields(to: &response, for: view)
        } else {
            SecurityFields.add(to: &response.fields)
        }
        status = response.status.code
        let length = response.body.length
        var headers = HPACKHeaders()
        headers.add(name: ":status", value: String(response.status.code))
        headers.add(name: "date", value: HTTPDate.text(HTTPDate.now), indexing: .nonIndexable)
        for line in response.fields.lines where !ResponseFields.isSetByConnection(line.name) {
            let name = line.name.lowercased()
            headers.add(
                name: name, value: line.value, indexing: Self.recurring.contains(name) ? .indexable : .nonIndexable)
        }
        if let length, response.status.allowsBody {
            headers.add(name: "content-length", value: String(length), indexing: .nonIndexable)
        }
        let hasBody = !isHeadOnly && response.status.allowsBody && length != 0
        let block = HTTP2Frame.FramePayload.Headers(headers: headers, endStream: !hasBody)
        context.writeAndFlush(wrapOutboundOut(.headers(block)), promise: nil)
        guard hasBody else { return finish() }
        switch response.body {
        case .empty: finish()
        case .bytes(let bytes):
            sentBytes = Int64(bytes.count)
            outgoing = .bytes(bytes, from: 0)
            pump()
        case .file(let entry, let range):
            sentBytes = Int64(range.count)
            outgoing = .file(FileSpan(entry, range), isPiece: false)
            pump()
        case .stream:
            outgoing = .stream(isChunked: false, remaining: length)
            hasEmptyEnd = true
            connection.emptyEndBegan()
            pump()
        }
    }

    private func write(_ buffer: ByteBuffer, isLast: Bool) {
        guard let context, !isOver else { return }
        let count = buffer.readableBytes
        // Before the stream ends with this frame, during the write or soon after it, which would count as broken off.
        if isLast { record() }
        outstanding += count
        if engine.memory.unsent.isFull { loopState.shedStalled() }
        load.hold(count)
        sentBody += Int64(count)
        engine.counters.sent(count)
        if deadline == .max { timeTheReader() }
        let promise = context.eventLoop.makePromise(of: Void.self)
        let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
        promise.futureResult.whenComplete { result in
            let stream = bound.value
            guard case .failure = result else { return stream.written(count) }
            stream.lostBody += Int64(count)
            stream.written(count)
            // The connection accepts nothing any more, or the frame layer is just about to end the stream.
            stream.loopState.loop.execute { bound.value.reset() }
        }
        context.writeAndFlush(
            wrapOutboundOut(.data(.init(data: .byteBuffer(buffer), endStream: isLast))), promise: promise)
    }

    private func written(_ count: Int) {
        outstanding -= count
        connection.sent(count)
        guard !isOver else { return }
        if outstanding > 0 || isQueued { timeTheReader() } else { deadline = .max }
        if owesReset { return stopRequest() }
        goOnLater()
    }

    private func goOnLater() {
        guard !isPumpScheduled else { return }
        isPumpScheduled = true
        connection.goOnLater(self)
    }

    func goOn() {
        isPumpScheduled = false
        pump()
    }

    func pump(_ exchange: Exchange) {
        guard exchange === self.exchange else { return }
        pump()
    }

    private var canSend: Bool {
        // However many streams there are, each continues with a little.
        !isOver && (outstanding == 0 || (outstanding < 256 * 1_024 && !load.isHeavy))
    }

    /// Sends as much of the body as the connection accepts now, within the rate limits.
    func pump() { pump(hasTurn: false) }

    private func pump(hasTurn: Bool) {
        let start = sentBody
        while isAnswering, canSend, pause == nil {
            guard hasTurn ? connection.isTaking : connection.isFree else {
                waitForTurn()
                break
            }
            guard !connection.isTurnOver else {
                goOnLater()
                break
            }
            let left = pace.piece - Int(clamping: sentBody - start)
            guard left > 0, sendNext(upTo: min(load.piece, left)) else { break }
        }
        keepToRate(Int(clamping: sentBody - start))
    }

    private func waitForTurn() {
        guard !isQueued, !outgoing.isNone else { return }
        isQueued = true
        connection.enqueue(self)
        if deadline == .max { timeTheReader() }
    }

    /// The connection accepts more, and it is this stream's turn.
    func takeTurn() {
        isQueued = false
        if outstanding == 0 { deadline = .max }
        pump(hasTurn: true)
    }

    /// Sends the next piece of the body; false when there is nothing to send now.
    private func sendNext(upTo limit: Int) -> Bool {
        switch outgoing {
        case .none: return false
        case .bytes(let bytes, let from):
            let end = pace.isLimited ? min(bytes.count, from + limit) : bytes.count
            outgoing = .bytes(bytes, from: end)
            write(ByteBuffer(bytes: bytes[from..<end]), isLast: end == bytes.count)
            guard end == bytes.count else { return true }
            finish()
            return false
        case .file(var span, let isPiece): return sendPiece(&span, isPiece: isPiece, upTo: limit)
        case .stream(_, let remaining): return pumpStream(remaining, upTo: pace.isLimited ? limit : .max)
        }
    }

    /// Waits if the bytes sent so far, `count` of them just now, were ahead of the rate limit.
    private func keepToRate(_ count: Int) {
        guard pace.isLimited else { return }
        let wait = pace.spend(count)
        guard !isOver, pause == nil, count > 0 || wait > .zero else { return }
        let bound = NIOLoopBound(self, eventLoop: loopState.loop)
        pause = loopState.loop.scheduleTask(in: TimeAmount(wait)) {
            bound.value.pause = nil
            bound.value.pump()
        }
    }

    private func pumpStream(_ remaining: Int64?, upTo limit: Int) -> Bool {
        guard let sink = exchange?.sink else { return false }
        switch sink.next(upTo: limit) {
        case .nothing: return false
        case .broken, .leftover:
            reset()
            return false
        case .end:
            guard remaining ?? 0 == 0 else {
                reset()
                return false
            }
            write(ByteBuffer(), isLast: true)
            finish()
            return false
        case .piece(let piece):
            let count = piece.count
            if let remaining, count > remaining {
                reset()
                return false
            }
            streamRest = remaining.map { $0 - count }
            outgoing = .stream(isChunked: false, remaining: streamRest)
            sentBytes &+= count
            switch piece {
            case .bytes(let bytes): write(ByteBuffer(bytes: bytes), isLast: false)
            case .file(let entry, let range): outgoing = .file(FileSpan(entry, range), isPiece: true)
            }
            return true
        }
    }

    private func sendPiece(_ span: inout FileSpan, isPiece: Bool, upTo limit: Int) -> Bool {
        guard span.count > 0 else {
            if isPiece {
                outgoing = .stream(isChunked: false, remaining: streamRest)
                return true
            }
            finish()
            return false
        }
        guard span.isWarm() else {
            warm(span)
            return false
        }
        switch span.read(upTo: limit, with: ByteBufferAllocator()) {
        case .bytes(let buffer):
            outgoing = .file(span, isPiece: isPiece)
            if isPiece { exchange?.sink.noteTaken() }
            write(buffer, isLast: !isPiece && span.count == 0)
            return true
        case .cold:
            warm(span)
            return false
        case .gone:
            // The file was truncated: never padded.
            reset()
            return false
        }
    }

    private func warm(_ span: FileSpan) {
        guard !isWarming else { return }
        isWarming = true
        let bound = NIOLoopBound(self, eventLoop: loopState.loop)
        span.warm(on: engine.threads(for: span.entry), loopState.loop, upTo: load.piece) { read in
            let stream = bound.value
            stream.isWarming = false
            stream.outgoing.markWarm(span, read)
            stream.pump()
        }
    }

    /// The response is on its way: the rest of the request body is not needed.
    func finish() {
        guard !isOver else { return }
        outgoing = .none
        heldAnswer.give(to: engine.memory.answers)
        record()
        exchange?.detach(cancelling: !isBodyDone)
        exchange = nil
        finishPipe(.failure(HTTPError(.badRequest, "The request was answered already.")))
        if !isBodyDone { stopRequest() }
    }

    /// Tells the client to stop sending its request, once it has the whole response: what is still on its way to it
    /// would be lost with the stream.
    ///
    /// RFC 9113 §8.1: a complete response may precede the end of the request.
    private func stopRequest() {
        owesReset = outstanding > 0
        guard !owesReset else { return }
        context?.writeAndFlush(wrapOutboundOut(.rstStream(.noError)), promise: nil)
    }

    /// Ends the stream in the middle of a body, so that nobody takes the part for the whole.
    func reset(_ reason: HTTP2ErrorCode = .internalError) {
        guard !isOver else { return }
        context?.writeAndFlush(wrapOutboundOut(.rstStream(reason)), promise: nil)
        becomeOver()
    }

    private func record() { record(status: status, bytes: isHeadOnly ? 0 : sentBytes) }

    /// Records a request whose stream was broken off: with the bytes sent of its response, if it had one.
    func recordBrokenOff() {
        guard isAnswering else { return record(status: AccessRecord.abandoned, bytes: 0) }
        record(status: status, bytes: max(0, sentBody &- lostBody &- Int64(outstanding)))
    }

    private func record(status: Int, bytes: Int64) {
        guard !isRecorded else { return }
        isRecorded = true
        engine.record(
            head, peer: view?.peer ?? peer, user: user, version: "HTTP/2", status: status, bytes: bytes,
            beganAt: beganAt)
    }
}
