import CSyscalls
import DirectoryRoot
import NIOCore
import NIOHPACK
import NIOHTTP2

/// One request and its response on an HTTP/2 connection.
///
/// RFC 9113 §8.
final class HTTP2Stream: ChannelInboundHandler, Carrier, LoopMember {
    typealias InboundIn = HTTP2Frame.FramePayload
    typealias OutboundOut = HTTP2Frame.FramePayload

    private let engine: Engine
    private let room: LoopRoom
    private let peer: String
    private var context: ChannelHandlerContext?
    var roomIndex = -1

    private var head = RequestHead()
    private var view: RequestHeadView?
    private var user: String?
    private var exchange: Exchange?
    private var pipe: BodyPipe?
    private var hasHead = false
    private var isBodyDone = false
    private var hasReadPending = false
    private var received: Int64 = 0
    /// What came of the body while access was being decided on the pool; nil at all other times.
    private var held: [HTTP2Frame.FramePayload]?

    private var outgoing = Outgoing.none
    private var isAnswering = false
    private var isOver = false
    private var isHeadOnly = false
    private var isWarming = false
    private var outstanding = 0
    private var sentBytes: Int64 = 0
    private var status = 0
    private var beganAt: Int64 = 0
    private var deadline: UInt32 = .max

    init(engine: Engine, room: LoopRoom, peer: String) {
        self.engine = engine
        self.room = room
        self.peer = peer
    }

    // MARK: - The channel's calls

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        room.enter(self)
        setDeadline(engine.limits.headTime)
        if context.channel.isActive { read() }
    }

    func channelActive(context: ChannelHandlerContext) {
        read()
        context.fireChannelActive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        hasReadPending = false
        switch unwrapInboundIn(data) {
        case let payload where held != nil: held?.append(payload)
        case .headers(let block):
            // Trailers are checked by the frame layer, and dropped.
            if hasHead { if block.endStream { endBody() } } else { begin(block) }
        case .data(let frame):
            guard case .byteBuffer(let buffer) = frame.data else { break }
            take(buffer)
            if frame.endStream { endBody() }
        default: break
        }
    }

    /// Goes on with what came while access was being decided.
    private func takeHeld() {
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

    func channelReadComplete(context: ChannelHandlerContext) { readIfUseful() }

    func channelInactive(context: ChannelHandlerContext) {
        becomeOver()
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        becomeOver()
        self.context = nil
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { reset() }

    private func becomeOver() {
        room.leave(self)
        guard !isOver else { return }
        isOver = true
        finishPipe(.failure(HTTPError(.badRequest, "The stream ended within the body.")))
        exchange?.detach(cancelling: true)
        exchange = nil
        outgoing = .none
    }

    private func read() {
        guard !hasReadPending, !isOver, let context else { return }
        hasReadPending = true
        context.read()
    }

    private func readIfUseful() {
        guard !isBodyDone else { return }
        if !hasHead || isAnswering || pipe?.isWanted == true { read() }
    }

    // MARK: - The request

    private func begin(_ block: HTTP2Frame.FramePayload.Headers) {
        hasHead = true
        isBodyDone = block.endStream
        deadline = .max
        beganAt = sys_coarse_milliseconds()
        engine.counters.request()
        do throws(HTTPError) {
            let target = try readHead(block.headers)
            isHeadOnly = head.method == .head
            guard !engine.isShuttingDown else {
                throw HTTPError(.serviceUnavailable, "The server is ending.", fields: ["Retry-After": "5"])
            }
            if let limit = engine.limits.bodyBytes, let length = head.contentLength, length > limit {
                throw HTTPError(.contentTooLarge, "The body of this request is larger than the server takes.")
            }
            var client = TrustedProxies.Client(
                address: peer, scheme: "https",
                authority: (target.authority ?? head[.host]).map { RequestHead.text($0) } ?? "")
            if !engine.proxies.isEmpty {
                client = engine.proxies.client(of: client, fields: RequestFields(head: head))
            }
            let view = RequestHeadView(
                head: head, method: head.method, target: target, authority: client.authority, scheme: client.scheme,
                peer: client.address, isPrivate: true)
            self.view = view
            dispatch(engine.access.admit(view), view)
        } catch {
            respond(Response(error))
        }
    }

    /// Makes a head as HTTP/1 would have brought it, with the same rules for what it may hold.
    private func readHead(_ headers: HPACKHeaders) throws(HTTPError) -> RequestTarget {
        let malformed = HTTPError(.badRequest, "The head of this request is malformed.")
        var method = ""
        var path = ""
        var authority: String?
        var lines: [(String, String)] = []
        var size = 0
        for (name, value, _) in headers {
            size += name.utf8.count + value.utf8.count + 32
            guard value.utf8.allSatisfy({ ($0 >= 0x20 && $0 != 0x7F) || $0 == 0x09 }) else { throw malformed }
            switch name {
            case ":method": method = value
            case ":path": path = value
            case ":authority": authority = value
            case ":scheme": break
            case "host": authority = authority ?? value
            default: lines.append((name, value))
            }
        }
        guard size <= engine.limits.headBytes, lines.count <= engine.limits.fieldCount else {
            throw HTTPError(.headerFieldsTooLarge, "The head of this request is larger than the server takes.")
        }
        guard path.utf8.count <= engine.limits.targetBytes else {
            throw HTTPError(.uriTooLong, "The address of this request is longer than the server takes.")
        }
        guard !method.isEmpty, method.utf8.allSatisfy(ASCII.isToken), let authority else { throw malformed }
        guard method != "CONNECT" else { throw HTTPError(.notImplemented, "This server is no proxy.") }
        head.compose(method: method, target: path, lines: [("host", authority)] + lines)
        try head.settle()
        let target = try RequestTarget(head.target)
        guard target.authority == nil, !target.isAsterisk || method == "OPTIONS" else { throw malformed }
        return target
    }

    private func ask(_ open: Admission, _ view: RequestHeadView) {
        let bound = NIOLoopBound(self, eventLoop: room.loop)
        let loop = room.loop
        held = []
        engine.settle(open) { decided in
            loop.execute {
                guard !bound.value.isOver else { return }
                bound.value.dispatch(decided, view)
                bound.value.takeHeld()
            }
        }
    }

    private func dispatch(_ admission: Admission, _ view: RequestHeadView) {
        switch admission {
        case .allow(let share, let prefix, let path):
            user = share.user
            answer(makeRequest(view, share: share, prefix: prefix, path: path))
        case .refuse(let response): respond(response)
        case .check, .verify: ask(admission, view)
        }
    }

    private func makeRequest(_ view: RequestHeadView, share: Share, prefix: String, path: SharePath) -> Request {
        let exchange = Exchange(engine: engine, loop: room.loop, carrier: self)
        self.exchange = exchange
        var body = RequestBody(length: 0, pipe: nil)
        if !isBodyDone {
            body = RequestBody(
                length: head.contentLength, pipe: BodyPipe(upstream: exchange),
                coding: BodyCoding(head, maxRatio: engine.limits.expansionRatio))
        }
        pipe = body.pipe
        let slash = view.target.path.isEmpty || view.target.path.last == UInt8(ascii: "/")
        let storage = RequestStorage(
            head: head, method: view.method, path: path, hasTrailingSlash: slash,
            query: view.target.query.map { $0.startIndex..<$0.endIndex }, share: share, body: body, io: engine.io,
            prefix: prefix, scheme: view.scheme, authority: view.authority, peer: view.peer)
        return Request(storage: storage)
    }

    private func answer(_ request: Request) {
        guard let exchange else { return }
        switch engine.route(request) {
        case .pass: respond(.text(.notFound, "There is nothing at this address."))
        case .now(let response):
            if case .stream = response.body, !isHeadOnly, response.status.allowsBody {
                exchange.start(request, sendsBody: true) { _ in response }
            } else {
                respond(response)
            }
        case .later(let work): exchange.start(request, sendsBody: !isHeadOnly, work)
        }
    }

    // MARK: - The body

    private func take(_ buffer: ByteBuffer) {
        let count = buffer.readableBytes
        engine.counters.received(count)
        guard let pipe, !isAnswering, count > 0 else { return }
        received &+= Int64(count)
        if let limit = engine.limits.bodyBytes, received > limit {
            return finishPipe(
                .failure(HTTPError(.contentTooLarge, "The body of this request is larger than the server takes.")))
        }
        if pipe.isWanted { setDeadline(engine.limits.bodyStallTime) }
        pipe.push(Array(buffer.readableBytesView))
    }

    private func endBody() {
        isBodyDone = true
        if !isAnswering { deadline = .max }
        finishPipe(.success(()))
    }

    private func finishPipe(_ end: Result<Void, HTTPError>) {
        let ended = pipe
        pipe = nil
        ended?.finish(end)
    }

    func readBody(of exchange: Exchange) {
        guard exchange === self.exchange, !isBodyDone, !isAnswering else { return }
        setDeadline(engine.limits.bodyStallTime)
        readIfUseful()
    }

    func lendSocket(to exchange: Exchange) -> (SocketLease, HTTP1Connection.Incoming)? { nil }

    func takeBack(_ lease: SocketLease, from exchange: Exchange, _ body: LeasedBody) {}

    // MARK: - The response

    func respond(_ response: Response, to exchange: Exchange) {
        guard exchange === self.exchange else { return }
        respond(response)
    }

    func inform(_ status: Status, _ fields: ResponseFields, of exchange: Exchange) {
        guard exchange === self.exchange, !isAnswering, !isOver, let context else { return }
        var headers = HPACKHeaders()
        headers.add(name: ":status", value: String(status.code))
        for line in fields.lines { headers.add(name: line.name.lowercased(), value: line.value) }
        context.writeAndFlush(wrapOutboundOut(.headers(.init(headers: headers))), promise: nil)
    }

    private func respond(_ plain: Response) {
        guard !isAnswering, !isOver, let context else { return }
        isAnswering = true
        deadline = .max
        var response = plain
        if let view, plain.status == .forbidden { response = engine.access.challenged(plain, for: view) }
        if let view { engine.access.dress(&response, for: view) } else { SecurityFields.dress(&response.fields) }
        status = response.status.code
        var length: Int64?
        switch response.body {
        case .empty: length = 0
        case .bytes(let bytes): length = Int64(bytes.count)
        case .file(_, let range): length = Int64(range.count)
        case .stream(let announced, _): length = announced
        }
        var headers = HPACKHeaders()
        headers.add(name: ":status", value: String(response.status.code))
        headers.add(name: "date", value: HTTPDate.text(HTTPDate.now))
        for line in response.fields.lines where !HTTP1Connection.isOwn(line.name) {
            headers.add(name: line.name.lowercased(), value: line.value)
        }
        if let length, response.status.allowsBody { headers.add(name: "content-length", value: String(length)) }
        let hasBody = !isHeadOnly && response.status.allowsBody && length != 0
        let block = HTTP2Frame.FramePayload.Headers(headers: headers, endStream: !hasBody)
        context.writeAndFlush(wrapOutboundOut(.headers(block)), promise: nil)
        guard hasBody else { return finish(ended: true) }
        switch response.body {
        case .empty: finish(ended: true)
        case .bytes(let bytes):
            sentBytes = Int64(bytes.count)
            write(ByteBuffer(bytes: bytes), isLast: true)
            finish(ended: true)
        case .file(let entry, let range):
            sentBytes = Int64(range.count)
            outgoing = .file(FileSpan(entry, range), isPiece: false)
            pump()
        case .stream:
            outgoing = .stream(isChunked: false, remaining: length)
            pump()
        }
    }

    private func write(_ buffer: ByteBuffer, isLast: Bool) {
        guard let context, !isOver else { return }
        let count = buffer.readableBytes
        outstanding += count
        engine.counters.sent(count)
        if deadline == .max { setDeadline(engine.limits.readerStallTime) }
        let promise = context.eventLoop.makePromise(of: Void.self)
        let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
        promise.futureResult.whenComplete { _ in bound.value.written(count) }
        context.writeAndFlush(
            wrapOutboundOut(.data(.init(data: .byteBuffer(buffer), endStream: isLast))), promise: promise)
    }

    private func written(_ count: Int) {
        outstanding -= count
        guard !isOver else { return }
        if outstanding > 0 { setDeadline(engine.limits.readerStallTime) } else { deadline = .max }
        let bound = NIOLoopBound(self, eventLoop: room.loop)
        room.loop.execute { bound.value.pump() }
    }

    func pump(_ exchange: Exchange) {
        guard exchange === self.exchange else { return }
        pump()
    }

    private var canSend: Bool { outstanding < 256 * 1_024 && !isOver }

    private func pump() {
        while isAnswering, canSend {
            switch outgoing {
            case .none: return
            case .file(var span, let isPiece):
                guard sendPiece(&span, isPiece: isPiece) else { return }
            case .stream(_, let remaining):
                guard pumpStream(remaining) else { return }
            }
        }
    }

    /// What to go back to when a file within a stream has been sent.
    private var streamRest: Int64?

    private func pumpStream(_ remaining: Int64?) -> Bool {
        guard let sink = exchange?.sink else { return false }
        switch sink.next() {
        case .nothing: return false
        case .broken:
            reset()
            return false
        case .end:
            guard remaining ?? 0 == 0 else {
                reset()
                return false
            }
            write(ByteBuffer(), isLast: true)
            finish(ended: true)
            return false
        case .piece(let piece):
            let count: Int64
            switch piece {
            case .bytes(let bytes): count = Int64(bytes.count)
            case .file(_, let range): count = Int64(range.count)
            }
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

    private func sendPiece(_ span: inout FileSpan, isPiece: Bool) -> Bool {
        guard span.count > 0 else {
            if isPiece {
                outgoing = .stream(isChunked: false, remaining: streamRest)
                return true
            }
            finish(ended: true)
            return false
        }
        guard span.isWarm() else {
            warm(span)
            return false
        }
        let wanted = Int(min(span.count, 64 * 1_024, max(span.warmUntil - span.offset, 1)))
        var buffer = ByteBufferAllocator().buffer(capacity: wanted)
        var count = 0
        buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: wanted) { free in
            count = span.entry.peek(free.baseAddress, wanted, at: span.offset)
            if count == -Int(sys_not_supported) {
                count = sys_pread(span.entry.descriptor, free.baseAddress, wanted, span.offset)
            }
            return max(count, 0)
        }
        if count == -Int(sys_again) {
            span.warmUntil = span.offset
            warm(span)
            return false
        }
        guard count > 0 else {
            // The file was cut while it was sent: never padded.
            reset()
            return false
        }
        span.offset += Int64(count)
        outgoing = .file(span, isPiece: isPiece)
        write(buffer, isLast: !isPiece && span.count == 0)
        return true
    }

    private func warm(_ span: FileSpan) {
        guard !isWarming else { return }
        isWarming = true
        let bound = NIOLoopBound(self, eventLoop: room.loop)
        let loop = room.loop
        let offset = span.offset
        engine.pool.submit {
            span.warm()
            loop.execute {
                let stream = bound.value
                stream.isWarming = false
                if case .file(var span, let isPiece) = stream.outgoing, span.offset == offset {
                    span.markWarm()
                    stream.outgoing = .file(span, isPiece: isPiece)
                }
                stream.pump()
            }
        }
    }

    /// The answer is on its way: the rest of the body is of no interest.
    private func finish(ended: Bool) {
        guard !isOver else { return }
        outgoing = .none
        record()
        exchange?.detach(cancelling: !isBodyDone)
        exchange = nil
        finishPipe(.failure(HTTPError(.badRequest, "The request was answered already.")))
        if !isBodyDone {
            // RFC 9113 §8.1: a whole answer may come before the whole request; the client is told to stop.
            context?.writeAndFlush(wrapOutboundOut(.rstStream(.noError)), promise: nil)
        }
    }

    /// Ends the stream within a body, so that nobody takes the part for the whole.
    private func reset() {
        guard !isOver else { return }
        if isAnswering { record() }
        context?.writeAndFlush(wrapOutboundOut(.rstStream(.internalError)), promise: nil)
        becomeOver()
    }

    private func record() {
        engine.counters.answered(status)
        guard let log = engine.log else { return }
        let record = AccessRecord(
            peer: view?.peer ?? peer, user: user, method: head.bytes[head.methodRange], target: head.target,
            version: "HTTP/2", status: status, bytes: isHeadOnly ? 0 : sentBytes, time: AccessRecord.now,
            milliseconds: max(0, sys_coarse_milliseconds() - beganAt), referer: head.lines("referer").first,
            agent: head.lines("user-agent").first)
        log.writer.add(record.line(log.format), engine.pool)
    }

    // MARK: - The room's calls

    private func setDeadline(_ time: Duration) {
        deadline = room.tick &+ Limits.ticks(time) &+ 1
    }

    func secondPassed(_ tick: UInt32) {
        guard tick >= deadline else { return }
        deadline = .max
        if isAnswering || !hasHead { return reset() }
        finishPipe(.failure(HTTPError(.requestTimeout, "The body of this request came too slowly.")))
    }

    func drain() {}

    func abort() { reset() }

    var idleSince: UInt32? { nil }
}
