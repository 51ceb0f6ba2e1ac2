import NIOCore

extension HTTP1Connection {
    /// The longest body that is still read to its end when nobody wants it, so that the connection can persist.
    static let skippable: Int64 = 256 * 1_024

    var isBodyDone: Bool {
        if case .none = incoming { return true }
        return false
    }

    /// Passes what was received of the body to its reader.
    func receiveBody() {
        guard inbound.readableBytes > 0 || isBodyDone else { return }
        if isSecure, !readsWide, !pace.isLimited, isLongBody { widenReads() }
        switch incoming {
        case .none: break
        case .counted(let remaining):
            let count = Int(min(remaining, Int64(inbound.readableBytes)))
            take(count)
            incoming = remaining == Int64(count) ? .none : .counted(remaining - Int64(count))
        case .chunked(var decoder):
            // Taken out meanwhile, so that the decoder is not copied.
            incoming = .none
            receiveChunks(&decoder)
            incoming = decoder.isDone || isBodyBroken ? .none : .chunked(decoder)
        }
        if isBodyBroken {
            endPipe(.failure(HTTP1ChunkDecoder.malformed))
            closesAfter = true
        } else if isBodyDone {
            noteHangUp()
            endPipe(.success(()))
            if !isAnswered { deadline = .max }
        } else if !isAnswered, pipe?.isWanted == true {
            setDeadline(engine.limits.bodyStallTime)
        } else if !isAnswered, outstanding == 0 {
            // While its reader has enough, nobody waits for the client.
            deadline = .max
        }
        if isAnswered, !isBodyDone, discarded > Int(Self.skippable) { closesAfter = true }
    }

    /// Notes before the end of a long body whether the client has closed its side behind it: the reader may have had us
    /// wait with reading.
    private func noteHangUp() {
        guard receivedBody >= Exchange.longBody, let context, context.channel.hasHungUp else { return }
        exchange?.noteInputEnd()
    }

    /// Whether much of the body is still to come, as far as that is known.
    private var isLongBody: Bool {
        guard !isAnswered, pipe != nil else { return false }
        switch incoming {
        case .none: return false
        case .counted(let remaining): return remaining >= Int64(Self.wideRead)
        case .chunked: return receivedBody >= Int64(Self.wideRead)
        }
    }

    private func take(_ count: Int) {
        guard count > 0 else { return }
        owesContinue = false
        guard !isAnswered, let pipe else {
            discarded &+= count
            inbound.moveReaderIndex(forwardBy: count)
            return
        }
        if let bytes = inbound.readBytes(length: count) { push(bytes, to: pipe) }
    }

    private func push(_ bytes: [UInt8], to pipe: BodyPipe) {
        receivedBody &+= Int64(bytes.count)
        if let limit = engine.limits.bodyBytes, receivedBody > limit {
            isBodyBroken = true
            return endPipe(.failure(.bodyTooLarge))
        }
        pipe.push(bytes)
    }

    private func receiveChunks(_ decoder: inout HTTP1ChunkDecoder) {
        let pipe = isAnswered ? nil : pipe
        var index = 0
        var joined: [UInt8] = []
        unsafe inbound.withUnsafeReadableBytes { bytes in
            joined.reserveCapacity(pipe == nil ? 0 : bytes.count)
            do {
                while let span = try unsafe decoder.next(bytes, from: &index) {
                    if pipe != nil {
                        unsafe joined.append(contentsOf: UnsafeRawBufferPointer(rebasing: bytes[span]))
                    } else {
                        discarded &+= span.count
                    }
                }
            } catch {
                isBodyBroken = true
            }
        }
        if index > 0 { owesContinue = false }
        inbound.moveReaderIndex(forwardBy: index)
        if let pipe, !joined.isEmpty { push(joined, to: pipe) }
    }

    /// Drops what nobody will read, so that what follows can be read: the end of the client's side, for example.
    func dropInput() {
        if !isBodyDone {
            endPipe(.failure(HTTPError(.badRequest, "The body of this request has no meaning.")))
            receiveBody()
        }
        guard isBodyDone else { return }
        // Some clients end a body with an empty line.
        while let byte = inbound.getInteger(at: inbound.readerIndex, as: UInt8.self), byte == 0x0D || byte == 0x0A {
            inbound.moveReaderIndex(forwardBy: 1)
        }
        // Further requests are served after this one. But in HTTP/1.0, no client sends any before it has the response.
        guard head.minorVersion == 0, inbound.readableBytes > 0 else { return }
        closesAfter = true
        incoming = .counted(.max)
        receiveBody()
    }

    func endPipe(_ end: Result<Void, HTTPError>) {
        guard let pipe else { return }
        self.pipe = nil
        pipe.finish(end)
    }

    // MARK: - Carrier

    func readBody(of exchange: Exchange) {
        guard exchange === self.exchange, phase == .exchange, !isBodyDone, !isAnswering else { return }
        sendContinue()
        // While many bytes wait for other readers, this one has to take what it has before more is read.
        if lease != nil || pipe?.isWanted == true { setDeadline(engine.limits.bodyStallTime) }
        if lease != nil { return read() }
        work()
        readIfUseful()
    }
}
