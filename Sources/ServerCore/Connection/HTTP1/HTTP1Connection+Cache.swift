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
    /// Fields whose presence means that the cache does not answer.
    private static let special = KnownFields(
        .ifMatch, .ifUnmodifiedSince, .authorization, .cookie, .origin, .contentLength, .transferEncoding, .expect,
        .upgrade)

    /// Responses over TLS may differ (HSTS).
    private var files: OpenFileCache { isSecure ? loopState.secureFiles : loopState.files }

    /// Whether the request is a GET or HEAD that the cache may answer.
    var isCacheableRead: Bool {
        guard head.known.isDisjoint(with: Self.special), !head.contains("want-repr-digest"), !head.contains("if"),
            head.methodRange.count == (isHeadOnly ? 4 : 3)
        else { return false }
        return unsafe head.bytes.withUnsafeBytes { bytes in
            guard unsafe bytes[head.targetRange.lowerBound] == UInt8(ascii: "/") else { return false }
            let method = head.methodRange.lowerBound
            return unsafe isHeadOnly
                || bytes[method] == UInt8(ascii: "G") && bytes[method + 1] == UInt8(ascii: "E")
                    && bytes[method + 2] == UInt8(ascii: "T")
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

    /// Answers a request for which ``isCacheableRead`` is true from the loop's cache of open files.
    /// - Returns: false when the cache does not have this file, or not what is asked for of it.
    func answerFromCache() -> Bool {
        guard engine.proxies.isEmpty, let rules = engine.access.rulesForEverybody(head) else { return false }
        let range = head.targetRange
        return unsafe head.bytes.withUnsafeBytes { bytes in
            let target = unsafe UnsafeRawBufferPointer(rebasing: bytes[range])
            if !closesAfter, head.minorVersion == 1, let composed = loopState.composed, composed.isSecure == isSecure,
                composed.file.rules == rules, unsafe composed.file.names(target), !isHeadOnly,
                composed.file.variant(for: head, ranges: engine.limits.ranges) == .whole
            {
                send(composed)
                return true
            }
            guard let file = unsafe files.find(target, rules: rules, tick: loopState.tick),
                let variant = file.variant(for: head, ranges: engine.limits.ranges)
            else { return false }
            send(variant, of: file)
            return true
        }
    }

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

    private func send(_ variant: OpenFileCache.Variant, of file: OpenFileCache.File) {
        let size = file.entry.attributes.size
        if file.uses > 4, size <= 64 * 1_024, variant == .whole, !isHeadOnly, !closesAfter, head.minorVersion == 1,
            !pace.isLimited
        {
            compose(file)
            if let composed = loopState.composed, composed.file === file { return send(composed) }
        }
        isAnswering = true
        if loopState.out.freeBytes < 16 * 1_024 { flush(more: true) }
        writeHead(variant, of: file, to: loopState.out)
        var span = FileSpan(file.entry, 0..<size)
        switch variant {
        case .whole: status = 200
        case .part(let range):
            status = 206
            span = FileSpan(file.entry, range)
        case .notModified:
            status = 304
            span = FileSpan(file.entry, 0..<0)
        }
        if pace.isLimited { keepToRate(0) }
        guard !isHeadOnly, span.count > 0 else { return finishAnswer() }
        sentBytes = span.count
        send(span, isPiece: false)
    }

    private func compose(_ file: OpenFileCache.File) {
        let size = file.entry.attributes.size
        var span = FileSpan(file.entry, 0..<size)
        let isCopied = size <= copiedFile
        guard isCopied || span.isWarm() else { return }
        loopState.compose(file, before: isCopied ? nil : span, to: head.bytes, isSecure: isSecure, of: engine) { out in
            writeHead(.whole, of: file, to: out)
            guard isCopied, size > 0 else { return true }
            let free = unsafe out.free
            guard free.count >= size else { return false }
            let count = unsafe file.entry.peek(free.baseAddress, Int(size), at: 0)
            out.advance(by: count)
            return count == Int(size)
        }
    }

    private func writeHead(_ variant: OpenFileCache.Variant, of file: OpenFileCache.File, to out: OutBuffer) {
        let size = file.entry.attributes.size
        var length: Int64? = size
        switch variant {
        case .whole: out.append("HTTP/1.1 200 OK\r\n")
        case .part(let range):
            out.append("HTTP/1.1 206 Partial Content\r\nContent-Range: bytes ")
            out.append(decimal: range.lowerBound)
            out.append(byte: UInt8(ascii: "-"))
            out.append(decimal: range.upperBound - 1)
            out.append(byte: UInt8(ascii: "/"))
            out.append(decimal: size)
            out.append("\r\n")
            length = Int64(range.count)
        case .notModified:
            out.append("HTTP/1.1 304 Not Modified\r\n")
            length = nil
        }
        loopState.writeDate(to: out)
        if let length {
            out.append(file.lines.type)
            out.append("Content-Length: ")
            out.append(decimal: length)
            out.append("\r\n")
        }
        out.append(file.lines.others)
        writeConnectionField(to: out)
        out.append("\r\n")
    }

    /// Caches a file with which the next requester will be answered too.
    func rememberFile(_ undressed: Response, to request: Request) {
        guard case .file(let entry, let range) = undressed.body, request.storage.query == nil,
            !request.share.isGuest, engine.proxies.isEmpty, let rules = engine.access.rulesForEverybody(head),
            let view
        else { return }
        var response = undressed
        engine.access.addFields(to: &response, for: view)
        switch response.status {
        case .ok: guard range == 0..<entry.attributes.size else { return }
        // What else it says is said of the whole file, too. RFC 9110 §15.3.7.
        case .partialContent: response.fields["Content-Range"] = nil
        case .notModified:
            response.fields["Content-Type"] = FileResponder.mediaType(of: FileResponder.filename(of: request))
        default: return
        }
        // What this very request would not be answered with from the cache is not cached anew for each like it.
        guard let lines = OpenFileCache.Lines(response.fields, of: entry), lines.suit(head),
            lines.isSelectable || response.status == .ok
        else { return }
        let target = head.targetRange
        unsafe head.bytes.withUnsafeBytes { bytes in
            unsafe files.keep(
                entry, for: UnsafeRawBufferPointer(rebasing: bytes[target]), path: request.path,
                root: request.share.root, lines: lines, rules: rules, tick: loopState.tick, limit: engine.cachedFiles)
        }
    }
}
