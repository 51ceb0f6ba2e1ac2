import CSyscalls
import DirectoryRoot
import NIOCore

extension HTTP1Connection {
    /// Reads on in the head; when it is complete, begins its exchange.
    /// - Returns: whether anything more can be done now.
    func readHead() -> Bool {
        do throws(HTTPError) {
            // Not through `withUnsafeReadableBytes` rethrowing: typed throws there crash swiftc 6.3.1.
            let result = unsafe inbound.withUnsafeReadableBytes { bytes -> Result<Int?, HTTPError> in
                do throws(HTTPError) {
                    return unsafe .success(try parser.parse(bytes, into: head))
                } catch {
                    return .failure(error)
                }
            }
            guard let count = try result.get() else {
                guard holdHead(inbound.readableBytes) else { throw ByteBudget.refusal }
                if !isTimingHead {
                    isTimingHead = true
                    setDeadline(engine.limits.headTime)
                }
                return false
            }
            guard holdHead(count) else { throw ByteBudget.refusal }
            inbound.moveReaderIndex(forwardBy: count)
            isTimingHead = false
            deadline = .max
            try beginExchange()
        } catch {
            isTimingHead = false
            refuse(error)
        }
        return true
    }

    /// Counts the memory of a head that is not small.
    /// - Returns: false when there is no room for it.
    func holdHead(_ bytes: Int) -> Bool {
        guard max(bytes, heldHead) > ByteBudget.uncounted else { return true }
        guard engine.wholeRequests.change(from: heldHead, to: bytes) else { return false }
        heldHead = bytes
        return true
    }

    private func beginExchange() throws(HTTPError) {
        engine.counters.request()
        if engine.accessLog != nil { beganAt = sys_coarse_milliseconds() }
        phase = .exchange
        isAnswering = false
        isAnswered = false
        isBodyBroken = false
        discarded = 0
        sentBytes = 0
        receivedBody = 0
        closesAfter = !head.keepsAlive || engine.isShuttingDown
        owesContinue = head.expectsContinue
        if head.isChunked {
            incoming = .chunked(HTTP1ChunkDecoder())
        } else if let length = head.contentLength, length > 0 {
            incoming = .counted(length)
        } else {
            incoming = .none
            owesContinue = false
        }
        if isPlainGet, answerFromCache() { return }
        let method = head.method
        isHeadOnly = method == .head
        guard method.rawValue != "CONNECT" else {
            throw HTTPError(.notImplemented, "This server is no proxy.")
        }
        let target = try RequestTarget(head.target)
        guard !target.isAsterisk || method == .options else {
            throw HTTPError(.badRequest, "“*” is an address for OPTIONS only.")
        }
        let view = try engine.view(of: head, target, peer: peer, scheme: isSecure ? "https" : "http")
        self.view = view
        dispatch(engine.access.admit(view), view)
    }

    /// Asks off the loop, and dispatches back on it.
    private func ask(_ open: Admission, _ view: RequestHeadView) {
        let exchange = Exchange(engine: engine, loop: loopState.loop, carrier: self, pace: pace)
        self.exchange = exchange
        isAsking = true
        let bound = NIOLoopBound(self, eventLoop: loopState.loop)
        let loop = loopState.loop
        engine.settle(open) { decided in
            loop.execute {
                let connection = bound.value
                guard connection.phase == .exchange, connection.exchange === exchange else { return }
                connection.exchange = nil
                connection.isAsking = false
                connection.dispatch(decided, view)
                connection.work()
                connection.readIfUseful()
            }
        }
    }

    private func dispatch(_ admission: Admission, _ view: RequestHeadView) {
        switch admission {
        case .allow(let share, let prefix, let path):
            user = share.user
            answer(makeRequest(view, share: share, prefix: prefix, path: path))
        case .count(let share, let prefix, let path, let settle):
            user = share.user
            answer(makeRequest(view, share: share, prefix: prefix, path: path), settling: settle)
        case .refuse(let response): respond(response)
        case .check, .verify: ask(admission, view)
        }
    }

    private func makeRequest(_ view: RequestHeadView, share: Share, prefix: String, path: SharePath) -> Request {
        let body: RequestBody
        if isBodyDone {
            body = engine.emptyBody(of: head)
        } else {
            let made = Exchange(engine: engine, loop: loopState.loop, carrier: self, pace: pace)
            var length: Int64?
            if case .counted(let announced) = incoming { length = announced }
            body = engine.body(of: head, length: length, for: made)
            exchange = made
        }
        pipe = body.pipe
        return engine.request(view, share: share, prefix: prefix, path: path, body: body)
    }

    private func answer(_ request: Request, settling settle: (@Sendable (Bool) -> Void)? = nil) {
        // What came together with its head is whole before anybody asks for it.
        if case .counted(let length) = incoming, length <= Int64(inbound.readableBytes) { receiveBody() }
        switch engine.route(request, settling: settle) {
        case .pass: respond(.text(.notFound, "There is nothing at this address."))
        case .now(let response):
            if !request.method.isSafe { loopState.forgetComposed() }
            if case .stream = response.body, !isHeadOnly, response.status.allowsBody {
                start(request) { _ in response }
            } else {
                if isPlainGet { rememberFile(response, to: request) }
                respond(response)
            }
        case .later(let work):
            // What is here already goes to the reader without another turn.
            receiveBody()
            start(request, work)
        case .onDisk(let work): enterExchange().start(request, sendsBody: !isHeadOnly, onDisk: work)
        }
    }

    private func start(_ request: Request, _ work: @escaping @Sendable (Request) async throws -> Response) {
        enterExchange().start(request, sendsBody: !isHeadOnly, work)
    }

    private func enterExchange() -> Exchange {
        let exchange = exchange ?? Exchange(engine: engine, loop: loopState.loop, carrier: self, pace: pace)
        self.exchange = exchange
        return exchange
    }

    /// The exchange is over on both sides: the next one can begin.
    /// - Returns: false when there is none.
    func finishExchange() -> Bool {
        if !isBodyDone, !closesAfter {
            // The rest of a body that nobody wanted is read and dropped: `settleUnreadBody` ends the connection after
            // a large one.
            return false
        }
        record(status: status, bytes: isHeadOnly ? 0 : sentBytes)
        // Who waits for leave to send will send nothing; and what is refused for another reason is not sent for
        // nothing.
        if status == 401, case .counted(let rest) = incoming, !isBodyBroken, !owesContinue { unreadBody = rest }
        exchange?.detach(cancelling: !isBodyDone)
        exchange = nil
        pipe = nil
        user = nil
        owesContinue = false
        view = nil
        _ = holdHead(0)
        // A large head's room is not kept for the small ones to come.
        if !isKnownUniquelyReferenced(&head) || head.bytes.capacity > 4_096 {
            head = RequestHead()
        } else {
            head.reset()
        }
        // It is recorded, however the connection ends now.
        phase = .head
        if closesAfter || engine.isShuttingDown {
            linger()
            return false
        }
        // Else the client's time to take what is kept for it goes on.
        if outstanding == 0 { setDeadline(seconds: engine.idleSeconds) }
        return true
    }

    /// Records a request with which the connection ended: what of its answer was sent, if there was one.
    func recordBrokenOff() {
        guard isAnswering else { return record(status: AccessRecord.abandoned, bytes: 0) }
        var sent = sentBytes &- Int64(outstanding)
        if case .file(let span, _) = outgoing { sent &-= span.count }
        // Of a whole body these are counted.
        if !isAnswered, let exchange { sent &+= exchange.sink.sentAround }
        record(status: status, bytes: isHeadOnly ? 0 : max(0, sent))
    }

    private func record(status: Int, bytes: Int64) {
        engine.record(
            head, peer: view?.peer ?? peer, user: user, version: head.minorVersion == 1 ? "HTTP/1.1" : "HTTP/1.0",
            status: status, bytes: bytes, beganAt: beganAt)
    }

    // MARK: - Refusing

    /// Answers a request that cannot be understood or taken, and ends the connection so that nothing after it is read
    /// as a request.
    func refuse(_ error: HTTPError) {
        let wantsNoBody = asksForHead
        // A head that never became whole has ranges into bytes that were not kept.
        if head.bytes.isEmpty { head.reset() }
        if phase == .head {
            // What the last exchange left behind.
            isAnswering = false
            isAnswered = false
            sentBytes = 0
            isHeadOnly = wantsNoBody
            if engine.accessLog != nil { beganAt = sys_coarse_milliseconds() }
        }
        phase = .exchange
        closesAfter = true
        isBodyBroken = true
        endPipe(.failure(error))
        respond(Response(error))
        if phase == .exchange, isAnswered { _ = finishExchange() }
    }

    /// Whether the method of a head, be it whole or not, is HEAD: whatever is wrong with it, its answer has no body.
    private var asksForHead: Bool {
        if !head.bytes.isEmpty { return head.method == .head }
        let start = inbound.readerIndex + head.methodRange.lowerBound
        return inbound.viewBytes(at: start, length: head.methodRange.count)?.elementsEqual("HEAD".utf8) ?? false
    }

    /// Lets the client see the answer before the connection ends: closing at once while bytes are on their way to us
    /// would reset it.
    ///
    /// Who is only asked to log in is to read it, too: KDE's programs take an end of our side within their own body for
    /// a connection that broke, so that waits for the rest of one whose length is known. RFC 9112 §9.6.
    private func linger() {
        flush(more: false)
        guard phase != .closed else { return }
        if isInputClosed || (isBodyDone && !isBodyBroken && inbound.readableBytes == 0 && outstanding == 0) {
            return close()
        }
        phase = .lingering
        if outstanding > 0 { timeTheReader() } else { setDeadline(engine.limits.lingerTime) }
        lingersUntil = loopState.tick &+ Limits.ticks(engine.limits.bodyStallTime)
        if unreadBody == 0 { context?.close(mode: .output, promise: nil) }
        discard()
        readIfUseful()
    }

    func discard() {
        let count = inbound.readableBytes
        discarded &+= count
        inbound.clear()
        if unreadBody > 0 {
            unreadBody -= Int64(count)
            if unreadBody <= 0 {
                discarded = 0
                context?.close(mode: .output, promise: nil)
            }
            if count > 0, outstanding == 0, loopState.tick < lingersUntil { setDeadline(engine.limits.lingerTime) }
        }
        // Somebody who goes on for this long does not read answers, unless the answer waits behind what he sends.
        if unreadBody <= 0, discarded > 64 * 1_024 * 1_024 { abort() }
    }
}
