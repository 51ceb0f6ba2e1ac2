import CSyscalls
import DirectoryRoot
import NIOCore
import NIOHPACK
import NIOHTTP2

extension HTTP2Stream {
    func begin(_ block: HTTP2Frame.FramePayload.Headers) {
        hasHead = true
        isBodyDone = block.endStream
        deadline = .max
        beganAt = sys_coarse_milliseconds()
        engine.counters.request()
        do throws(HTTPError) {
            let target = try readHead(block.headers)
            owesContinue = head.expectsContinue && !isBodyDone
            if !isBodyDone, !owesContinue { context?.channel.parent?.acknowledgeAtOnce() }
            guard !engine.isShuttingDown else {
                throw HTTPError.shuttingDown
            }
            // Streams run beside each other: each is an origin of its own.
            let arrival = RequestArrival(from: RequestArrival.newOrigin())
            let view = try engine.view(of: head, target, peer: peer, scheme: "https", arrival)
            self.view = view
            dispatch(engine.access.admit(view), view)
        } catch {
            respond(Response(error))
        }
    }

    /// Fills a head as HTTP/1 would have delivered it, with the same rules for its contents.
    private func readHead(_ headers: HPACKHeaders) throws(HTTPError) -> RequestTarget {
        let malformed = HTTPError(.badRequest, "The head of this request is malformed.")
        var method = ""
        var path = ""
        var authority: String?
        var host: String?
        var lines: [(String, String)] = []
        var cookies: [String] = []
        var size = 0
        for (name, value, _) in headers {
            size += name.utf8.count + value.utf8.count + 32
            guard Self.isFieldValue(value) else { throw malformed }
            switch name {
            case ":method":
                method = value
                // A response that refuses it for another reason must not have a body either.
                isHeadOnly = value == "HEAD"
            case ":path": path = value
            case ":authority": authority = value
            case ":scheme": break
            case "host":
                guard host == nil else { throw malformed }
                host = value
            case "cookie": cookies.append(value)
            default: lines.append((name, value))
            }
        }
        // Browsers send each cookie in a field of its own. RFC 9113 §8.2.3.
        if !cookies.isEmpty { lines.append(("cookie", cookies.joined(separator: "; "))) }
        guard size <= engine.limits.headBytes, lines.count <= engine.limits.fieldCount else {
            throw HTTPError.headTooLarge
        }
        guard path.utf8.count <= engine.limits.targetBytes else { throw HTTPError.addressTooLong }
        guard !method.isEmpty, method.utf8.allSatisfy(ASCII.isToken) else { throw malformed }
        if let authority, let host, !Self.isSame(authority, host) { throw malformed }
        guard let authority = authority ?? host else { throw malformed }
        guard method != "CONNECT" else { throw HTTPError(.notImplemented, "This server is no proxy.") }
        head.compose(method: method, target: path, lines: [("host", authority)] + lines)
        try head.settle()
        let target = try RequestTarget(head.target)
        guard target.authority == nil, !target.isAsterisk || method == "OPTIONS" else { throw malformed }
        return target
    }

    /// Whether a value has no control characters, and no blanks around it, which an intermediary might drop or keep.
    ///
    /// RFC 9113 §8.2.1.
    private static func isFieldValue(_ value: String) -> Bool {
        guard value.utf8.allSatisfy({ ($0 >= 0x20 && $0 != 0x7F) || $0 == 0x09 }) else { return false }
        return value.utf8.first.map(ASCII.isBlank) != true && value.utf8.last.map(ASCII.isBlank) != true
    }

    /// Whether `:authority` and `Host` name the same server; a request that names two is refused.
    ///
    /// RFC 9113 §8.3.1.
    private static func isSame(_ authority: String, _ host: String) -> Bool {
        func plain(_ name: String) -> Substring { name.hasSuffix(":443") ? name.dropLast(4) : name[...] }
        return ASCII.equalIgnoringCase(plain(authority).utf8, plain(host).utf8)
    }

    func ask(_ open: Admission, _ view: RequestHeadView) {
        let bound = NIOLoopBound(self, eventLoop: loopState.loop)
        let loop = loopState.loop
        held = HeldBody()
        engine.settle(open) { decided in
            loop.execute {
                guard !bound.value.isOver else { return }
                bound.value.dispatch(decided, view)
                bound.value.takeHeld()
            }
        }
    }

    func makeRequest(_ view: RequestHeadView, share: Share, prefix: String, path: SharePath) -> Request {
        let exchange = Exchange(engine: engine, loop: loopState.loop, carrier: self, pace: pace)
        self.exchange = exchange
        let body: RequestBody
        if isBodyDone {
            body = engine.emptyBody(of: head)
        } else {
            body = engine.body(of: head, length: head.contentLength, for: exchange)
        }
        pipe = body.pipe
        return engine.request(view, share: share, prefix: prefix, path: path, body: body)
    }

    func answer(_ request: Request, settling settle: (@Sendable (Bool) -> Void)?) {
        guard let exchange else { return }
        switch engine.route(request, settling: settle) {
        case .pass: respond(.text(.notFound, "There is nothing at this address."))
        case .now(let response):
            if !request.method.isSafe { loopState.forgetComposed() }
            if case .stream = response.body, !isHeadOnly, response.status.allowsBody {
                exchange.start(request, sendsBody: true) { _ in response }
            } else {
                respond(response)
            }
        case .later(let work): exchange.start(request, sendsBody: !isHeadOnly, work)
        case .onDisk(let work): exchange.start(request, sendsBody: !isHeadOnly, onDisk: work)
        }
    }
}
