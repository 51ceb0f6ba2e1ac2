import CSyscalls
import DirectoryRoot
import NIOCore

extension HTTP1Connection {
    /// Continues to parse the head; when it is complete, begins its exchange.
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
                    context?.channel.acknowledgeAtOnce()
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
    /// - Returns: false when there is none left for it.
    func holdHead(_ bytes: Int) -> Bool {
        guard max(bytes, heldHead) > ByteBudget.uncounted else { return true }
        guard engine.memory.wholeRequests.change(from: heldHead, to: bytes) else { return false }
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
        isHeadOnly = head.methodRange.count == 4 && head.method == .head
        if isCacheableRead, answerFromCache() { return }
        let method = head.method
        guard method.rawValue != "CONNECT" else {
            throw HTTPError(.notImplemented, "This server is no proxy.")
        }
        let target = try RequestTarget(head.target)
        guard !target.isAsterisk || method == .options else {
            throw HTTPError(.badRequest, "“*” is an address for OPTIONS only.")
        }
        // What is read after the end of the input was sent before it.
        let arrival = RequestArrival(from: origin, notAfter: inputEnd ?? .now)
        let view = try engine.view(of: head, target, peer: peer, scheme: isSecure ? "https" : "http", arrival)
        self.view = view
        dispatch(engine.access.admit(view), view)
    }

    func ask(_ open: Admission, _ view: RequestHeadView) {
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

    func makeRequest(_ view: RequestHeadView, share: Share, prefix: String, path: SharePath) -> Request {
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

    func answer(_ request: Request, settling settle: (@Sendable (Bool) -> Void)?) {
        // A body that arrived together with its head is complete before anybody asks for it.
        if case .counted(let length) = incoming, length <= Int64(inbound.readableBytes) {
            receiveBody()
        } else if !isBodyDone, !owesContinue {
            context?.channel.acknowledgeAtOnce()
        }
        switch engine.route(request, settling: settle) {
        case .pass: respond(.text(.notFound, "There is nothing at this address."))
        case .now(let response):
            if !request.method.isSafe { loopState.forgetComposed() }
            if case .stream = response.body, !isHeadOnly, response.status.allowsBody {
                start(request) { _ in response }
            } else {
                if isCacheableRead { rememberFile(response, to: request) }
                respond(response)
            }
        case .later(let work):
            // What was already received goes to the reader without another turn of the loop.
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
        if isInputClosed { exchange.noteInputEnd() }
        return exchange
    }

    /// Ends an exchange that is complete on both sides, so that the next one can begin.
    /// - Returns: false when it is not complete yet, or no further request is taken.
    func finishExchange() -> Bool {
        if !isBodyDone, !closesAfter {
            // The rest of a body that nobody wanted is read and dropped: `settleUnreadBody` ends the connection after a
            // large one.
            return false
        }
        record(status: status, bytes: isHeadOnly ? 0 : sentBytes)
        // A client that waits for 100 Continue will send nothing; and after any other refusal there is no reason to
        // wait for the rest.
        if status == 401, case .counted(let rest) = incoming, !isBodyBroken, !owesContinue { unreadBody = rest }
        exchange?.detach(cancelling: !isBodyDone)
        exchange = nil
        pipe = nil
        user = nil
        owesContinue = false
        view = nil
        _ = holdHead(0)
        narrowReads()
        // The buffer of a large head is not kept for the small ones to come.
        if !isKnownUniquelyReferenced(&head) || head.bytes.capacity > 4_096 {
            head = RequestHead()
        } else {
            head.reset()
        }
        // The request is recorded, however the connection ends now.
        phase = .head
        if closesAfter || engine.isShuttingDown {
            linger()
            return false
        }
        // Otherwise the client's time for taking what is kept for it continues to run.
        if outstanding == 0 { setDeadline(seconds: engine.idleSeconds) }
        return true
    }

    /// Records a request during which the connection ended: with the bytes sent of its response, if it had one.
    func recordBrokenOff() {
        guard isAnswering else { return record(status: AccessRecord.abandoned, bytes: 0) }
        var sent = sentBytes &- Int64(outstanding)
        switch outgoing {
        case .bytes(let bytes, let from): sent &-= Int64(bytes.count - from)
        case .file(let span, _): sent &-= span.count
        case .none, .stream: break
        }
        // For a whole body, these are counted already.
        if !isAnswered, let exchange { sent &+= exchange.sink.sentAround }
        record(status: status, bytes: isHeadOnly ? 0 : max(0, sent))
    }

    private func record(status: Int, bytes: Int64) {
        engine.record(
            head, peer: view?.peer ?? peer, user: user, version: head.minorVersion == 1 ? "HTTP/1.1" : "HTTP/1.0",
            status: status, bytes: bytes, beganAt: beganAt)
    }

    // MARK: - Refusing

    /// Answers a request that can't be parsed or accepted, and ends the connection so that nothing after it is parsed
    /// as a request.
    func refuse(_ error: HTTPError) {
        let wantsNoBody = asksForHead
        // A head that was never complete has ranges into bytes that were not kept.
        if head.bytes.isEmpty { head.reset() }
        if phase == .head {
            // Left over from the last exchange.
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

    /// Whether the method of a head, complete or not, is HEAD: then even an error response has no body.
    private var asksForHead: Bool {
        if !head.bytes.isEmpty { return head.method == .head }
        let start = inbound.readerIndex + head.methodRange.lowerBound
        return inbound.viewBytes(at: start, length: head.methodRange.count)?.elementsEqual("HEAD".utf8) ?? false
    }

    /// Lets the client receive the response before the connection ends: closing while bytes are on their way here would
    /// reset it.
    ///
    /// A client that is merely asked to log in must also be able to read that: KDE's programs take the end of our side
    /// during their own body for a broken connection, so for a body of known length, its rest is awaited. RFC 9112
    /// §9.6.
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
        // A client that continues to send for this long does not read responses, unless the response waits behind what
        // it sends.
        if unreadBody <= 0, discarded > 64 * 1_024 * 1_024 { abort() }
    }
}
