import CSyscalls
import DirectoryRoot
import Logging

extension HTTP1Connection {
    func respond(_ response: Response, to exchange: Exchange) {
        guard exchange === self.exchange, phase == .exchange, !isAnswering else { return }
        loopState.forgetComposed()
        respond(response)
        work()
        readIfUseful()
    }

    /// Composes the head and begins to send; finishes immediately if the body is in memory.
    /// - Parameter given: consumed, so that adding fields to it needs no copy of them.
    func respond(_ given: consuming Response) {
        guard !isAnswering, phase == .exchange else { return }
        isAnswering = true
        var response = given
        if response.status == .forbidden, let view { response = engine.access.challenged(response, for: view) }
        if pace.isLimited {
            if !isHeadOnly {
                let taken = HeldAnswer.take(response.body, to: head.method, of: loopState, engine.memory.answers)
                held = taken ?? HeldAnswer()
                if taken == nil { response = Response(HeldAnswer.refusal) }
            }
            // Room may have been made by closing this connection.
            guard phase != .closed else { return held.give(to: engine.memory.answers) }
            // The first bytes have their turn too: a new connection has none of its own to wait for.
            keepToRate(0)
        }
        status = response.status.code
        deadline = .max
        if !isBodyDone { settleUnreadBody(response) }
        let framing = writeHead(&response)
        guard !isHeadOnly, response.status.allowsBody else { return finishAnswer() }
        switch response.body {
        case .empty: finishAnswer()
        case .bytes(let bytes):
            sentBytes = Int64(bytes.count)
            guard !pace.isLimited else {
                outgoing = .bytes(bytes, from: 0)
                return pump()
            }
            unsafe bytes.withUnsafeBytes { unsafe emit($0) }
            finishAnswer()
        case .file(let entry, let range):
            sentBytes = Int64(range.count)
            send(FileSpan(entry, range), isPiece: false)
        case .stream:
            outgoing = framing.outgoing
            pump()
        }
    }

    /// Decides what to do with a body that the handler has not read to its end.
    private func settleUnreadBody(_ response: Response) {
        if case .stream = response.body, !isHeadOnly, pipe != nil, !owesContinue {
            // The writer of the response may still be reading it.
            return
        }
        if case .counted(let remaining) = incoming, remaining <= Self.skippable, !owesContinue, !isBodyBroken { return }
        closesAfter = true
    }

    enum Framing {
        case none, chunked, untilClose
        case counted(Int64)

        /// What is sent of a stream with this framing.
        var outgoing: Outgoing {
            switch self {
            case .none: .none
            case .chunked: .stream(isChunked: true, remaining: nil)
            case .untilClose: .stream(isChunked: false, remaining: nil)
            case .counted(let length): .stream(isChunked: false, remaining: length)
            }
        }
    }

    private func writeHead(_ response: inout Response) -> Framing {
        if let view {
            engine.access.addFields(to: &response, for: view)
        } else {
            SecurityFields.add(to: &response.fields)
        }
        let out = loopState.out
        if out.freeBytes < 32 * 1_024 { flush(more: true) }
        writeStatusLine(response.status, to: out)
        loopState.writeDate(to: out)
        for line in response.fields.lines where !ResponseFields.isSetByConnection(line.name) {
            writeField(line.name, line.value, to: out)
        }
        let framing = writeFraming(response)
        writeConnectionField(to: out)
        out.append("\r\n")
        return framing
    }

    func inform(_ status: Status, _ fields: ResponseFields, of exchange: Exchange) {
        guard exchange === self.exchange, phase == .exchange, !isAnswering, head.minorVersion == 1 else { return }
        let out = loopState.out
        if out.freeBytes < 8 * 1_024 { flush(more: true) }
        writeStatusLine(status, to: out)
        for line in fields.lines { writeField(line.name, line.value, to: out) }
        out.append("\r\n")
        flush(more: false)
    }

    private func writeStatusLine(_ status: Status, to out: OutBuffer) {
        out.append("HTTP/1.1 ")
        out.append(decimal: Int64(status.code))
        out.append(byte: 0x20)
        out.append(status.reason)
        out.append("\r\n")
    }

    /// Writes a field line.
    ///
    /// A line of tens of thousands of bytes does not fit, and no client would accept it: it is left out.
    private func writeField(_ name: String, _ value: String, to out: OutBuffer) {
        guard name.utf8.count + value.utf8.count + 1_024 < out.freeBytes else {
            return engine.logger.debug("a field line is too long to be sent", metadata: ["field": "\(name)"])
        }
        out.append(name)
        out.append(": ")
        out.append(value)
        out.append("\r\n")
    }

    func writeConnectionField(to out: OutBuffer) {
        if closesAfter {
            out.append("Connection: close\r\n")
        } else if head.minorVersion == 0 {
            out.append("Connection: keep-alive\r\n")
        }
    }

    private func writeFraming(_ response: Response) -> Framing {
        guard response.status.allowsBody else { return .none }
        if let length = response.body.length {
            loopState.out.append("Content-Length: ")
            loopState.out.append(decimal: length)
            loopState.out.append("\r\n")
            return .counted(length)
        }
        guard head.minorVersion == 1 else {
            closesAfter = true
            return .untilClose
        }
        loopState.out.append("Transfer-Encoding: chunked\r\n")
        return .chunked
    }

    func finishAnswer() {
        outgoing = .none
        held.give(to: engine.memory.answers)
        isAnswered = true
        if !isBodyDone {
            endPipe(.failure(HTTPError(.badRequest, "The request was answered already.")))
            setDeadline(engine.limits.bodyStallTime)
        }
    }
}
