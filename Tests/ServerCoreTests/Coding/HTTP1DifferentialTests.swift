import NIOCore
import NIOEmbedded
import NIOHTTP1
import Testing

@testable import ServerCore

/// Compares our parser with SwiftNIO's: it may refuse more, but never reads another message from the same bytes.
@Suite("HTTP/1 parser against NIOHTTP1") struct HTTP1DifferentialTests {
    /// The result of parsing some bytes.
    struct Message: Equatable {
        var method: String
        var target: String
        var minor: Int
        var fields: [String]
        var body: [UInt8]
    }

    static let corpus: [String] = [
        "GET / HTTP/1.1\r\nHost: a\r\n\r\n", "GET /a%20b?c=d HTTP/1.1\r\nHost: a:80\r\nX:  y \r\nZ:\r\n\r\n",
        "POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nabcde",
        "POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n3;x=\"y\"\r\nfgh\r\n0\r\nT: v\r\n\r\n",
        "PUT /x HTTP/1.1\r\nhost: [::1]:8080\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
        "PROPFIND / HTTP/1.1\r\nHost: a\r\nDepth: 1\r\nContent-Type: text/xml\r\nContent-Length: 3\r\n\r\n<a>",
        "GET http://b/c HTTP/1.1\r\nHost: a\r\n\r\n", "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET / HTTP/1.0\r\n\r\n", "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
        "\r\nGET / HTTP/1.0\r\n\r\n", "\r\n\r\n\r\nGET /x HTTP/1.0\r\n\r\n",
    ]

    @Test("the corpus is read alike") func alike() {
        for text in Self.corpus {
            let bytes = Array(text.utf8)
            #expect(Self.ours(bytes) == Self.theirs(bytes), "\(text.debugDescription)")
            #expect(Self.ours(bytes) != nil)
        }
    }

    @Test("mutations are refused, or read alike") func mutations() {
        var random = Seeded(state: 0x5EED)
        let pieces: [[UInt8]] = [
            [13], [10], [13, 10], [0], [32], [9], Array(":".utf8), Array(",".utf8), Array(";".utf8), [0xFF],
            Array("Content-Length: 3\r\n".utf8), Array("Transfer-Encoding: chunked\r\n".utf8), Array("0".utf8),
            Array("chunked".utf8), Array("\r\n\r\n".utf8), Array("HTTP/1.1".utf8), Array("\r\n ".utf8),
        ]
        for _ in 0..<20_000 {
            var bytes = Array((Self.corpus.randomElement(using: &random) ?? "").utf8)
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                let place = Int.random(in: 0..<max(1, bytes.count), using: &random)
                switch Int.random(in: 0..<5, using: &random) {
                case 0: bytes[place] = UInt8.random(in: 0...255, using: &random)
                case 1: bytes.remove(at: place)
                case 2: bytes.insert(contentsOf: pieces.randomElement(using: &random) ?? [], at: place)
                case 3: bytes = Array(bytes[..<place])
                default:
                    let end = min(bytes.count, place + Int.random(in: 1...12, using: &random))
                    bytes.insert(contentsOf: bytes[place..<end], at: place)
                }
                if bytes.isEmpty { bytes = [65] }
            }
            guard let message = Self.ours(bytes) else { continue }
            let other = Self.theirs(bytes)
            if let other {
                #expect(message == other, "\(String(decoding: bytes, as: UTF8.self).debugDescription)")
            }
        }
    }

    @Test("any packet boundaries make the same message") func boundaries() {
        for text in Self.corpus {
            let bytes = Array(text.utf8)
            let whole = Self.ours(bytes)
            for step in 1...7 { #expect(Self.ours(bytes, step: step) == whole) }
        }
    }

    /// The first message, as our codec reads it; nil when refused or incomplete.
    static func ours(_ bytes: [UInt8], step: Int = .max) -> Message? {
        var parser = HTTP1HeadParser()
        let head = RequestHead()
        var count = 0
        var length: Int?
        while length == nil, count < bytes.count {
            count = min(bytes.count, count.addingReportingOverflow(step).overflow ? bytes.count : count + step)
            do {
                length = try bytes.withUnsafeBytes {
                    try parser.parse(UnsafeRawBufferPointer(rebasing: $0[..<count]), into: head)
                }
            } catch {
                return nil
            }
        }
        guard let length, (try? RequestTarget(head.target)) != nil else { return nil }
        var body: [UInt8] = []
        if head.isChunked {
            var decoder = HTTP1ChunkDecoder()
            var index = length
            let isWhole = bytes.withUnsafeBytes { all -> Bool in
                do {
                    while let span = try decoder.next(all, from: &index) { body += all[span] }
                    return decoder.isDone
                } catch {
                    return false
                }
            }
            guard isWhole else { return nil }
        } else if let wanted = head.contentLength {
            guard bytes.count - length >= wanted else { return nil }
            body = Array(bytes[length..<(length + Int(wanted))])
        }
        let fields = head.slots.map { slot in
            "\(head.bytes[slot.name].text): \(head.bytes[slot.value].text)"
        }
        return Message(
            method: head.method.rawValue, target: String(decoding: head.target, as: UTF8.self),
            minor: head.minorVersion, fields: fields, body: body)
    }

    /// The same by NIOHTTP1.
    static func theirs(_ bytes: [UInt8]) -> Message? {
        let channel = EmbeddedChannel()
        defer { _ = try? channel.finish(acceptAlreadyClosed: true) }
        do {
            try channel.pipeline.syncOperations.addHandler(ByteToMessageHandler(HTTPRequestDecoder()))
            try channel.writeInbound(ByteBuffer(bytes: bytes))
        } catch {
            // What was read before the error still counts.
        }
        var message: Message?
        while let part = try? channel.readInbound(as: HTTPServerRequestPart.self) {
            switch part {
            case .head(let head):
                if message != nil { return message }
                message = Message(
                    method: head.method.rawValue, target: head.uri, minor: head.version.minor,
                    // It keeps blanks after a value, which are not part of it (RFC 9112 §5.1).
                    fields: head.headers.map { "\($0.name): \(ASCII.trimmed(Array($0.value.utf8)).text)" }, body: [])
            case .body(let buffer): message?.body += Array(buffer.readableBytesView)
            case .end: return message
            }
        }
        return nil
    }
}

extension ArraySlice<UInt8> {
    fileprivate var text: String { String(decoding: self, as: UTF8.self) }
}
