import DirectoryRoot
import NIOCore

extension HTTP1Connection {
    /// Fields that make a request something else than the plain GET that the cache answers.
    private static let special = KnownFields(
        .range, .ifMatch, .ifNoneMatch, .ifModifiedSince, .ifUnmodifiedSince, .ifRange, .acceptEncoding, .authorization,
        .cookie, .origin, .contentLength, .transferEncoding, .expect, .upgrade)

    /// Answers over TLS may differ (HSTS).
    private var files: OpenFileCache { isSecure ? room.secureFiles : room.files }

    /// Whether the head asks for a whole file and nothing else.
    var isPlainGet: Bool {
        guard head.known.isDisjoint(with: Self.special), head.methodRange.count == 3 else { return false }
        return head.bytes.withUnsafeBytes { bytes in
            let method = head.methodRange.lowerBound
            return bytes[method] == UInt8(ascii: "G") && bytes[method + 1] == UInt8(ascii: "E")
                && bytes[method + 2] == UInt8(ascii: "T") && bytes[head.targetRange.lowerBound] == UInt8(ascii: "/")
        }
    }

    /// Answers from the loop's cache of open files.
    /// - Returns: false when it does not have this one.
    func answerFromCache() -> Bool {
        guard engine.proxies.isEmpty, let rules = engine.access.rulesForEverybody(head) else { return false }
        let range = head.targetRange
        let found = head.bytes.withUnsafeBytes { bytes in
            files.find(UnsafeRawBufferPointer(rebasing: bytes[range]), rules: rules, tick: room.tick)
        }
        guard let file = found, !head.contains("want-repr-digest"), !head.contains("if") else { return false }
        isAnswering = true
        isHeadOnly = false
        status = 200
        let out = room.out
        if out.room < 16 * 1_024 { flush(more: true) }
        out.append("HTTP/1.1 200 OK\r\n")
        room.writeDate()
        out.append(file.lines)
        writeConnectionField()
        out.append("\r\n")
        sentBytes = file.entry.attributes.size
        if sentBytes > 0 {
            send(FileSpan(file.entry, 0..<sentBytes), isPiece: false)
        } else {
            finishAnswer()
        }
        return true
    }

    /// Remembers an answer that the next one who asks will get too.
    func rememberFile(_ undressed: Response, to request: Request) {
        guard engine.proxies.isEmpty, let rules = engine.access.rulesForEverybody(head), let view else { return }
        var response = undressed
        engine.access.dress(&response, for: view)
        guard response.status == .ok, case .file(let entry, let range) = response.body, range.lowerBound == 0,
            range.upperBound == entry.attributes.size, request.storage.query == nil,
            request.share.base.isRoot
        else { return }
        var lines: [UInt8] = []
        lines.reserveCapacity(512)
        for line in response.fields.lines {
            // Content that depends on more than what `isPlainGet` excludes is nobody else's.
            if ASCII.equalIgnoringCase(line.name.utf8, "vary".utf8),
                !ASCII.equalIgnoringCase(line.value.utf8, "accept-encoding".utf8)
            {
                return
            }
            guard !Self.isOwn(line.name) else { continue }
            lines += line.name.utf8
            lines += ": ".utf8
            lines += line.value.utf8
            lines += "\r\n".utf8
        }
        lines += "Content-Length: \(range.count)\r\n".utf8
        guard lines.count < 8 * 1_024 else { return }
        let target = head.targetRange
        head.bytes.withUnsafeBytes { bytes in
            files.keep(
                entry, for: UnsafeRawBufferPointer(rebasing: bytes[target]), path: request.path,
                root: request.share.root,
                lines: lines, rules: rules, tick: room.tick)
        }
    }
}
