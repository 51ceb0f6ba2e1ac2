import DirectoryRoot
import TestSupport
import Testing

@testable import ServerCore

@Suite("FileResponder")
struct FileResponderTests {
    let directory: TemporaryDirectory
    let share: Share

    init() throws {
        directory = try TemporaryDirectory()
        share = Share(root: try DirectoryRoot(path: directory.path))
        try directory.write("0123456789", to: "a.txt")
        try directory.write(String(repeating: "all work and no play\n", count: 1000), to: "long.txt")
        try directory.write([UInt8](repeating: 1, count: 4096), to: "a.png")
        try directory.write("", to: "empty.txt")
        try directory.write("<script>alert(1)</script>", to: "a.html")
        try directory.write("%PDF", to: "a.pdf")
        try directory.write("x", to: "a\"b\r\nc.txt")
        // `Last-Modified` is never later than now, and the coarse clock is some milliseconds late.
        try share.setTimes(of: SharePath(text: "/a.txt"), modified: Timestamp(seconds: 1_000_000_000))
    }

    private func get(
        _ path: String, _ fields: [(String, String)] = [], method: Method = .get
    ) throws -> (response: Response, entry: Entry) {
        let request = try Request.forTesting(method: method, path: path, fields: fields, share: share)
        let entry = try share.open(request.path)
        return (FileResponder.respond(with: entry, to: request), entry)
    }

    private func span(_ response: Response) -> Range<Int64>? {
        if case .file(_, let span) = response.body { span } else { nil }
    }

    @Test("A plain GET says all that caches and browsers need")
    func plain() throws {
        let (response, entry) = try get("/a.txt")
        #expect(response.status == .ok)
        #expect(span(response) == 0..<10)
        #expect(response.fields["ETag"] == entry.attributes.entityTag.text)
        #expect(response.fields["Content-Type"] == "text/plain; charset=utf-8")
        #expect(response.fields["Last-Modified"] == HTTPDate.text(entry.attributes.modified.seconds))
        #expect(response.fields["Accept-Ranges"] == "bytes")
        #expect(response.fields["Cache-Control"] == "no-cache")
        #expect(response.fields["X-Content-Type-Options"] == "nosniff")
        #expect(response.fields["Vary"] == "Accept-Encoding")
    }

    @Test("A stranger's page runs no script on our origin", arguments: ["/a.html", "/a.txt", "/a.png", "/a.pdf"])
    func sandboxed(path: String) throws {
        let policy = try #require(get(path).response.fields["Content-Security-Policy"])
        #expect(policy.contains("script-src 'none'") || policy.contains("default-src 'none'"))
        #expect(policy.hasPrefix("sandbox;") || path == "/a.pdf")
        #expect(!policy.contains("allow-"))
    }

    @Test("Our page may frame a PDF that it asks for so, also when it has it already; nobody may frame anything else")
    func framed() throws {
        func policy(_ path: String, _ fields: [(String, String)] = []) throws -> String? {
            try get(path, fields).response.fields["Content-Security-Policy"]
        }
        let tag = try get("/a.pdf").entry.attributes.entityTag.text
        let ours = try #require(try policy("/a.pdf?view"))
        #expect(ours.contains("frame-ancestors 'self'"))
        #expect(ours.contains("script-src 'none'"))
        #expect(try policy("/a.pdf?view", [("If-None-Match", tag)]) == ours)
        #expect(try policy("/a.pdf?view", [("Range", "bytes=0-1")]) == ours)
        for path in ["/a.pdf", "/a.pdf?x=view", "/a.html?view", "/a.txt?view", "/a.png?view"] {
            #expect(try policy(path)?.contains("frame-ancestors 'none'") == true)
        }
    }

    @Test("A download carries its name, harmlessly")
    func download() throws {
        #expect(try get("/a.txt?download").response.fields["Content-Disposition"] == "attachment; filename=\"a.txt\"")
        #expect(try get("/a.txt?x=download").response.fields["Content-Disposition"] == nil)
        let hostile = try get("/a%22b%0D%0Ac.txt?download").response.fields["Content-Disposition"]
        #expect(hostile == "attachment; filename=\"a_b__c.txt\"; filename*=UTF-8''a%22b__c.txt")
    }

    @Test("Ranges of the largest file that there can be are answered, together with what stands around them")
    func largestFile() throws {
        var attributes = try get("/a.png").entry.attributes
        attributes.size = .max
        let entry = Entry(descriptor: -1, attributes: attributes)
        func ask(_ range: String) throws -> Response {
            let request = try Request.forTesting(path: "/a.png", fields: [("Range", range)], share: share)
            return FileResponder.respond(with: entry, to: request)
        }
        let last = Int64.max - 1
        #expect(span(try ask("bytes=-1")) == last..<Int64.max)
        #expect(span(try ask("bytes=\(last)-")) == last..<Int64.max)
        #expect(span(try ask("bytes=0-")) == 0..<Int64.max)
        // Both ranges together with their part headers are longer than any length can be.
        let most = try ask("bytes=0-9,11-")
        #expect(most.status == .ok)
        #expect(span(most) == 0..<Int64.max)
        #expect(try ask("bytes=0-9,\(last)-").status == .partialContent)
    }

    @Test("A span at the end of the largest file that there can be is read on as any other")
    func lastSpan() throws {
        let range = (Int64.max - 2)..<Int64.max
        var span = FileSpan(try get("/a.png").entry, range)
        _ = span.isWarm()
        span.markWarm(span.warm(upTo: 64 * 1_024))
        let isWarm = span.isWarm()
        #expect(isWarm)
        #expect(span.warmUntil == Int64.max)
        #expect(span.count == 2)
    }

    @Test("What the client has is not sent again")
    func notModified() throws {
        let (first, entry) = try get("/a.txt")
        let tag = try #require(first.fields["ETag"])
        let (second, _) = try get("/a.txt", [("If-None-Match", tag)])
        #expect(second.status == .notModified)
        #expect(second.fields["ETag"] == tag)
        #expect(second.fields["Cache-Control"] == "no-cache")
        #expect(!second.status.allowsBody)
        let date = HTTPDate.text(entry.attributes.modified.seconds)
        #expect(try get("/a.txt", [("If-Modified-Since", date)]).response.status == .notModified)
        #expect(try get("/a.txt", [("If-Match", "\"x\"")]).response.status == .preconditionFailed)
        #expect(
            try get("/a.txt", [("If-Unmodified-Since", "Sun, 06 Nov 1994 08:49:37 GMT")]).response.status.code == 412)
        #expect(try get("/a.txt", [("If-None-Match", tag)], method: .head).response.status == .notModified)
    }

    @Test("One span is a 206")
    func single() throws {
        let (response, _) = try get("/a.txt", [("Range", "bytes=2-4")])
        #expect(response.status == .partialContent)
        #expect(response.fields["Content-Range"] == "bytes 2-4/10")
        #expect(span(response) == 2..<5)
        #expect(try span(get("/a.txt", [("Range", "bytes=2-4")], method: .head).response) == 0..<10)
    }

    @Test("If-Range with another content sends it whole")
    func ifRange() throws {
        let tag = try #require(get("/a.txt").response.fields["ETag"])
        #expect(try get("/a.txt", [("Range", "bytes=2-4"), ("If-Range", tag)]).response.status == .partialContent)
        #expect(try get("/a.txt", [("Range", "bytes=2-4"), ("If-Range", "\"x\"")]).response.status == .ok)
        #expect(try get("/a.txt", [("Range", "bytes=99-"), ("If-Range", "\"x\"")]).response.status == .ok)
    }

    @Test("A range past the end is a 416 that says the size")
    func unsatisfiable() throws {
        let (response, _) = try get("/a.txt", [("Range", "bytes=10-")])
        #expect(response.status == .rangeNotSatisfiable)
        #expect(response.fields["Content-Range"] == "bytes */10")
        #expect(try get("/empty.txt", [("Range", "bytes=0-")]).response.status == .ok)
        #expect(try get("/empty.txt", [("Range", "bytes=-1")]).response.status == .ok)
    }

    @Test("Several spans are one multipart body of a known length")
    func multiple() throws {
        let (response, _) = try get("/a.txt", [("Range", "bytes=0-0,5-6,-1")])
        #expect(response.status == .partialContent)
        #expect(response.fields["Content-Range"] == nil)
        let type = try #require(response.fields["Content-Type"])
        #expect(type.hasPrefix("multipart/byteranges; boundary="))
        let boundary = String(type.dropFirst("multipart/byteranges; boundary=".count))
        guard case .stream(let length?, _) = response.body else {
            Issue.record("the length is known")
            return
        }
        let expected =
            ["0-0", "5-6", "9-9"].map {
                "\r\n--\(boundary)\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Range: bytes \($0)/10\r\n\r\n"
            }.joined() + "0569" + "\r\n--\(boundary)--\r\n"
        #expect(length == Int64(expected.utf8.count - 2))
    }

    @Test("Compressible files go as gzip, under a tag of their own")
    func gzip() throws {
        let fields = [("Accept-Encoding", "gzip, br")]
        let (response, entry) = try get("/long.txt", fields)
        #expect(response.fields["Content-Encoding"] == "gzip")
        #expect(response.fields["ETag"] == entry.attributes.entityTag.gzipText)
        #expect(response.fields["Vary"] == "Accept-Encoding")
        guard case .stream(nil, _) = response.body else {
            Issue.record("gzip is streamed")
            return
        }
        let tag = try #require(response.fields["ETag"])
        let again = try get("/long.txt", fields + [("If-None-Match", tag)]).response
        #expect(again.status == .notModified)
        #expect(again.fields["ETag"] == tag)
        // No 304 for clients that do not accept gzip: a shared cache would give them the gzip form.
        for fields in [[], [("Accept-Encoding", "gzip;q=0")]] {
            let other = try get("/long.txt", fields + [("If-None-Match", tag)]).response
            #expect(other.status == .ok && other.fields["Content-Encoding"] == nil)
        }
        let ranged = try get("/long.txt", fields + [("Range", "bytes=0-9")]).response
        #expect(ranged.fields["Content-Encoding"] == nil)
        #expect(ranged.fields["Content-Range"] == "bytes 0-9/21000")
        // The entity tag of the gzip form does not identify the bytes that a range counts.
        #expect(try get("/long.txt", [("Range", "bytes=0-9"), ("If-Range", tag)]).response.status == .ok)
    }

    @Test("What does not get smaller stays as it is")
    func incompressible() throws {
        #expect(try get("/a.png", [("Accept-Encoding", "gzip")]).response.fields["Content-Encoding"] == nil)
        #expect(try get("/a.txt", [("Accept-Encoding", "gzip")]).response.fields["Content-Encoding"] == nil)
        #expect(try get("/long.txt", [("Accept-Encoding", "gzip;q=0")]).response.fields["Content-Encoding"] == nil)
        #expect(
            try get("/a.png", [("Accept-Encoding", "gzip, identity;q=0")]).response.fields["Content-Encoding"] == "gzip"
        )
        #expect(try get("/a.png", [("Accept-Encoding", "identity;q=0")]).response.status == .notAcceptable)
        let part = ("Range", "bytes=0-0")
        #expect(try get("/a.png", [("Accept-Encoding", "gzip, identity;q=0"), part]).response.status == .ok)
        #expect(try get("/a.png", [("Accept-Encoding", "identity;q=0"), part]).response.status == .notAcceptable)
    }

    @Test("A date in the future is not sent")
    func future() {
        let attributes = FileAttributes(
            kind: .file, size: 1, modified: Timestamp(seconds: .max), created: nil, accessed: Timestamp(seconds: 0),
            changed: Timestamp(seconds: 0), inode: 1, device: 1)
        let date = FileHead(of: attributes, name: "a".utf8).fields()["Last-Modified"].flatMap { HTTPDate.parse($0) }
        #expect(date.map { $0 <= HTTPDate.now } == true)
    }

    @Test("A digest is sent where one is wanted")
    func digest() async throws {
        let request = try Request.forTesting(path: "/a.txt", fields: [("Want-Repr-Digest", "sha-256=1")], share: share)
        guard case .later(let work) = FileResponder.answer(with: try share.open(request.path), to: request) else {
            Issue.record("hashing waits for the disk")
            return
        }
        let response = try await work(request)
        #expect(response.fields["Repr-Digest"] == "sha-256=:hNiYd/DUBB77a/kaFvAkjy/Vc+avBcGflr7bn4gveII=:")
        let plain = try Request.forTesting(path: "/a.txt", share: share)
        guard case .now = FileResponder.answer(with: try share.open(plain.path), to: plain) else {
            Issue.record("no digest, no task")
            return
        }
    }
}
