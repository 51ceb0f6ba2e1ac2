import DirectoryRoot

/// The data for one line in an access log.
struct AccessRecord {
    var peer: String
    var user: String?
    var method: ArraySlice<UInt8>
    var target: ArraySlice<UInt8>
    var version: String
    var status: Int
    var bytes: Int64
    /// The time of the end.
    var time: Timestamp
    /// The duration from the head to the end.
    var milliseconds: Int64
    var referer: ArraySlice<UInt8>?
    var agent: ArraySlice<UInt8>?

    /// The status of a request whose client disconnected before it was answered, as in nginx.
    static let abandoned = 499

    /// Appends the line, with its line feed.
    func write(_ format: AccessLog.Format, at clock: inout LogClock, to line: inout [UInt8]) {
        clock.turn(to: time.seconds)
        switch format {
        case .text: writeText(clock, to: &line)
        case .combined: writeCombined(clock, to: &line)
        case .json: writeJSON(clock, to: &line)
        }
    }

    private func writeText(_ clock: LogClock, to line: inout [UInt8]) {
        stamp(clock, to: &line)
        line.add(" ")
        line.add(peer)
        line.add(" ")
        Self.escape(userBytes, to: &line)
        line.add(" ")
        addRequest(to: &line)
        line.add(" ")
        addOutcome(to: &line)
        line.add(" ")
        line.add(decimal: milliseconds)
        line.add("ms\n")
    }

    /// In the format of Apache and nginx.
    private func writeCombined(_ clock: LogClock, to line: inout [UInt8]) {
        line.add(peer)
        line.add(" - ")
        Self.escape(userBytes, to: &line)
        line.add(" [")
        line += clock.common
        line.add("] \"")
        addRequest(to: &line)
        line.add(" ")
        line.add(version)
        line.add("\" ")
        addOutcome(to: &line)
        line.add(" \"")
        Self.escape(referer.map(Self.withoutSecret), to: &line)
        line.add("\" \"")
        Self.escape(agent, to: &line)
        line.add("\"\n")
    }

    private func writeJSON(_ clock: LogClock, to line: inout [UInt8]) {
        line.add("{\"time\":\"")
        stamp(clock, to: &line)
        line.add("\",\"client\":\"")
        line.add(peer)
        line.add("\",\"user\":")
        Self.quote(userBytes, to: &line)
        line.add(",\"method\":")
        Self.quote(method, to: &line)
        line.add(",\"target\":")
        Self.quote(Self.withoutSecret(target), to: &line)
        line.add(",\"version\":\"")
        line.add(version)
        line.add("\",\"status\":")
        line.add(decimal: Int64(status))
        line.add(",\"bytes\":")
        line.add(decimal: bytes)
        line.add(",\"milliseconds\":")
        line.add(decimal: milliseconds)
        line.add(",\"referer\":")
        Self.quote(referer.map(Self.withoutSecret), to: &line)
        line.add(",\"agent\":")
        Self.quote(agent, to: &line)
        line.add("}\n")
    }

    private var userBytes: ArraySlice<UInt8>? { user.map { Array($0.utf8)[...] } }

    private func addRequest(to line: inout [UInt8]) {
        Self.escape(method, to: &line)
        line.add(" ")
        Self.escape(Self.withoutSecret(target), to: &line)
    }

    private static let linkMark = Array("/.shareserve/s/".utf8)

    /// A target or an address as it may appear in a log: without the secret of a share link.
    ///
    /// A link is `/.shareserve/s/<id>-<secret>`, in any encoding. What looks like a link but is none may lose more.
    private static func withoutSecret(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        var masked: [UInt8] = []
        var written = text.startIndex
        var rest = text
        while let slash = rest.firstIndex(of: UInt8(ascii: "/")) {
            rest = rest[slash...]
            if let begin = endOfLinkMark(in: rest) {
                let token = text[begin...].prefix { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") }
                let shown = token.firstIndex(of: UInt8(ascii: "-")).map { $0 + 1 } ?? begin
                masked += text[written..<shown]
                masked += "***".utf8
                written = token.endIndex
                rest = text[written...]
            } else {
                rest = rest.dropFirst()
            }
        }
        guard !masked.isEmpty else { return text }
        masked += text[written...]
        return masked[...]
    }

    /// Where a link's identifier begins in a text that begins with a slash; nil if there is none.
    private static func endOfLinkMark(in text: ArraySlice<UInt8>) -> Int? {
        var rest = text
        for wanted in linkMark {
            guard let byte = RequestTarget.firstMeant(&rest), ASCII.lowercased(byte) == wanted else { return nil }
            guard wanted == UInt8(ascii: "/") else { continue }
            // `/` and `/./` are the folder itself. Only a few are skipped: before the mark, the next slash is examined
            // too.
            for _ in 0..<mostEmpty {
                var ahead = rest
                if ahead.first == UInt8(ascii: "/") {
                    rest = ahead.dropFirst()
                } else if RequestTarget.firstMeant(&ahead) == UInt8(ascii: "."), ahead.first == UInt8(ascii: "/") {
                    rest = ahead.dropFirst()
                } else {
                    break
                }
            }
        }
        return rest.startIndex
    }

    private static let mostEmpty = 8

    private func addOutcome(to line: inout [UInt8]) {
        line.add(decimal: Int64(status))
        line.add(" ")
        line.add(decimal: bytes)
    }

    /// As in `2026-11-21T00:12:33.123Z`, always UTC.
    private func stamp(_ clock: LogClock, to line: inout [UInt8]) {
        line += clock.stamp
        let fraction = time.nanoseconds / 1_000_000
        line.append(UInt8(ascii: "."))
        for divisor: Int32 in [100, 10, 1] { line.append(48 + UInt8(truncatingIfNeeded: fraction / divisor % 10)) }
        line.append(UInt8(ascii: "Z"))
    }

    /// Escapes every byte that is not visible ASCII, and quotes and backslashes, as `\xHH`; `-` for nil or empty.
    private static func escape(_ bytes: ArraySlice<UInt8>?, to line: inout [UInt8]) {
        guard let bytes, !bytes.isEmpty else {
            line.append(UInt8(ascii: "-"))
            return
        }
        for byte in bytes.prefix(4_096) {
            if byte >= 0x20, byte < 0x7F, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\") {
                line.append(byte)
            } else {
                line += "\\x".utf8
                line.append(Hex.digit(byte >> 4))
                line.append(Hex.digit(byte & 15))
            }
        }
    }

    /// A JSON string, with bytes beyond ASCII decoded as Latin-1; `null` for nil.
    private static func quote(_ bytes: ArraySlice<UInt8>?, to line: inout [UInt8]) {
        guard let bytes else {
            line += "null".utf8
            return
        }
        line.append(UInt8(ascii: "\""))
        for byte in bytes.prefix(4_096) {
            if byte >= 0x20, byte < 0x7F, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\") {
                line.append(byte)
            } else {
                line += "\\u00".utf8
                line.append(Hex.digit(byte >> 4))
                line.append(Hex.digit(byte & 15))
            }
        }
        line.append(UInt8(ascii: "\""))
    }
}

extension [UInt8] {
    fileprivate mutating func add(_ text: String) { append(contentsOf: text.utf8) }

    /// Appends a non-negative number.
    fileprivate mutating func add(decimal number: Int64) {
        var divisor: Int64 = 1
        while number / divisor >= 10 { divisor *= 10 }
        while divisor > 0 {
            append(48 + UInt8(truncatingIfNeeded: number / divisor % 10))
            divisor /= 10
        }
    }
}
