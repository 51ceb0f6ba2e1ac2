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
    /// Fields whose presence means that the request is not the plain GET that the cache answers.
    private static let special = KnownFields(
        .range, .ifMatch, .ifNoneMatch, .ifModifiedSince, .ifUnmodifiedSince, .ifRange, .acceptEncoding, .authorization,
        .cookie, .origin, .contentLength, .transferEncoding, .expect, .upgrade)

    /// Responses over TLS may differ (HSTS).
    private var files: OpenFileCache { isSecure ? loopState.secureFiles : loopState.files }

    /// Whether the request is for a whole file and nothing else.
    var isPlainGet: Bool {
        guard head.known.isDisjoint(with: Self.special), head.methodRange.count == 3 else { return false }
        return unsafe head.bytes.withUnsafeBytes { bytes in
            let method = head.methodRange.lowerBound
            return unsafe bytes[method] == UInt8(ascii: "G") && bytes[method + 1] == UInt8(ascii: "E")
                && bytes[method + 2] == UInt8(ascii: "T") && bytes[head.targetRange.lowerBound] == UInt8(ascii: "/")
        }
    }

    /// Answers a head that is, byte for byte, the one that the loop's composed response was made for: parsing it again
    /// would give the same result.
    /// - Returns: false when it is another one, or the access log needs more than the response.
    func answerAgain() -> Bool {
        guard let composed = loopState.composed, composed.isSecure == isSecure, !parser.isInside,
            engine.accessLog.map({ $0.format == .text && composed.span == nil }) ?? true
        else { return false }
        let question = unsafe composed.question.bytes
        guard question.count > 0, composed.engine == ObjectIdentifier(engine), inbound.readableBytes >= question.count,
            !engine.isShuttingDown
        else { return false }
        let isSame = unsafe inbound.withUnsafeReadableBytes { bytes in
            guard let came = bytes.baseAddress, let known = question.baseAddress else { return false }
            return unsafe memcmp(came, known, question.count) == 0
        }
        guard isSame else { return false }
        inbound.moveReaderIndex(forwardBy: question.count)
        engine.counters.request()
        deadline = .max
        if composed.span != nil {
            phase = .exchange
            isAnswered = false
            send(composed)
            return true
        }
        give(composed)
        engine.recordGet(of: composed.file.target, peer: peer, bytes: composed.file.entry.attributes.size)
        if outstanding == 0 { setDeadline(seconds: engine.idleSeconds) }
        return true
    }

    private func give(_ composed: LoopState.Composed) {
        if loopState.out.count == 0, inbound.readableBytes == 0, composed.span == nil {
            unsafe transmit(composed.answer.bytes, more: false)
        } else {
            unsafe emit(composed.answer.bytes)
        }
    }

    /// Answers from the loop's cache of open files.
    /// - Returns: false when the cache does not have this file.
    func answerFromCache() -> Bool {
        guard engine.proxies.isEmpty, let rules = engine.access.rulesForEverybody(head) else { return false }
        let range = head.targetRange
        return unsafe head.bytes.withUnsafeBytes { bytes in
            let target = unsafe UnsafeRawBufferPointer(rebasing: bytes[range])
            if !closesAfter, head.minorVersion == 1, let composed = loopState.composed, composed.isSecure == isSecure,
                composed.file.rules == rules, unsafe composed.file.names(target), isUnconditional
            {
                send(composed)
                return true
            }
            guard let file = unsafe files.find(target, rules: rules, tick: loopState.tick), isUnconditional else {
                return false
            }
            send(file)
            return true
        }
    }

    /// Whether no field outside the set of known ones requires another response.
    private var isUnconditional: Bool { !head.contains("want-repr-digest") && !head.contains("if") }

    private func send(_ composed: LoopState.Composed) {
        isAnswering = true
        isHeadOnly = false
        status = 200
        sentBytes = composed.file.entry.attributes.size
        give(composed)
        guard phase != .closed, let span = composed.span else { return finishAnswer() }
        outgoing = .file(span, isPiece: false)
        pump()
    }

    private func send(_ file: OpenFileCache.File) {
        let size = file.entry.attributes.size
        if file.uses > 4, size <= 64 * 1_024, !closesAfter, head.minorVersion == 1, !pace.isLimited {
            compose(file)
            if let composed = loopState.composed, composed.file === file { return send(composed) }
        }
        isAnswering = true
        isHeadOnly = false
        status = 200
        if loopState.out.freeBytes < 16 * 1_024 { flush(more: true) }
        writeHead(of: file, to: loopState.out)
        sentBytes = size
        if pace.isLimited { keepToRate(0) }
        if sentBytes > 0 {
            send(FileSpan(file.entry, 0..<sentBytes), isPiece: false)
        } else {
            finishAnswer()
        }
    }

    private func compose(_ file: OpenFileCache.File) {
        let size = file.entry.attributes.size
        var span = FileSpan(file.entry, 0..<size)
        let isCopied = size <= copiedFile
        guard isCopied || span.isWarm() else { return }
        loopState.compose(file, before: isCopied ? nil : span, to: head.bytes, isSecure: isSecure, of: engine) { out in
            writeHead(of: file, to: out)
            guard isCopied, size > 0 else { return true }
            let free = unsafe out.free
            guard free.count >= size else { return false }
            let count = unsafe file.entry.peek(free.baseAddress, Int(size), at: 0)
            out.advance(by: count)
            return count == Int(size)
        }
    }

    private func writeHead(of file: OpenFileCache.File, to out: OutBuffer) {
        out.append("HTTP/1.1 200 OK\r\n")
        loopState.writeDate(to: out)
        out.append(file.lines)
        writeConnectionField(to: out)
        out.append("\r\n")
    }

    /// Caches a response that the next requester will get too.
    func rememberFile(_ undressed: Response, to request: Request) {
        guard engine.proxies.isEmpty, let rules = engine.access.rulesForEverybody(head), let view else { return }
        var response = undressed
        engine.access.addFields(to: &response, for: view)
        guard response.status == .ok, case .file(let entry, let range) = response.body, range.lowerBound == 0,
            range.upperBound == entry.attributes.size, request.storage.query == nil,
            request.share.base.isRoot
        else { return }
        var lines: [UInt8] = []
        lines.reserveCapacity(512)
        for line in response.fields.lines {
            // Content that depends on more than what `isPlainGet` excludes must not be sent to anybody else.
            if ASCII.equalIgnoringCase(line.name.utf8, "vary".utf8),
                !ASCII.equalIgnoringCase(line.value.utf8, "accept-encoding".utf8)
            {
                return
            }
            guard !ResponseFields.isSetByConnection(line.name) else { continue }
            lines += line.name.utf8
            lines += ": ".utf8
            lines += line.value.utf8
            lines += "\r\n".utf8
        }
        lines += "Content-Length: \(range.count)\r\n".utf8
        guard lines.count < 8 * 1_024 else { return }
        let target = head.targetRange
        unsafe head.bytes.withUnsafeBytes { bytes in
            unsafe files.keep(
                entry, for: UnsafeRawBufferPointer(rebasing: bytes[target]), path: request.path,
                root: request.share.root,
                lines: lines, rules: rules, tick: loopState.tick, limit: engine.cachedFiles)
        }
    }
}
