import DirectoryRoot
import Glibc
import Synchronization
import TestSupport
import Testing

@testable import ServerCore

@Suite("HTTP/1 connection", .timeLimit(.minutes(2))) struct HTTP1ConnectionTests {
    private let get = "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n"

    @Test("a request is answered, and the connection lives on") func keepAlive() async throws {
        try await withServer(TestHandler()) { server in
            let wire = try server.wire()
            for _ in 0..<3 {
                let answer = try wire.ask(get)
                #expect(answer.status == 200)
                #expect(answer.text == "hello\n")
                #expect(answer.fields["date"]?.hasSuffix("GMT") == true)
                #expect(answer.fields["x-content-type-options"] == "nosniff")
            }
        }
    }

    @Test("pipelined requests are answered in order") func pipelining() async throws {
        try await withServer(TestHandler()) { server in
            let wire = try server.wire()
            try wire.send(
                get + "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc" + get
                    + "GET /stream HTTP/1.1\r\nHost: a\r\n\r\n" + get)
            #expect(try wire.answer().text == "hello\n")
            #expect(try wire.answer().text == "abc")
            #expect(try wire.answer().text == "hello\n")
            #expect(try wire.answer().text.hasSuffix("\n999\n"))
            #expect(try wire.answer().text == "hello\n")
        }
    }

    @Test("bytes that come one by one make the same request") func dribble() async throws {
        try await withServer(TestHandler()) { server in
            let wire = try server.wire()
            for byte
                in "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nT: x\r\n\r\n"
                .utf8
            {
                try wire.send([byte])
            }
            #expect(try wire.answer().text == "abc")
            #expect(try wire.ask(get).status == 200)
        }
    }

    @Test("Connection: close and HTTP/1.0 end the connection after the answer") func closing() async throws {
        try await withServer(TestHandler()) { server in
            for request in [
                "GET /hello HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", "GET /hello HTTP/1.0\r\n\r\n",
                "GET /hello HTTP/1.1\r\nHost: a\r\nConnection: x, Close\r\n\r\n",
            ] {
                let wire = try server.wire()
                try wire.send(request + request)
                let all = try wire.readToEnd()
                #expect(all.components(of: "HTTP/1.1 200") == 1)
                #expect(all.contains("Connection: close\r\n"))
            }
            let wire = try server.wire()
            let answer = try wire.ask("GET /hello HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
            #expect(answer.fields["connection"] == "keep-alive")
            #expect(try wire.ask("GET /hello HTTP/1.0\r\n\r\n").status == 200)
        }
    }

    @Test("100 Continue comes only when the body is read") func expectation() async throws {
        try await withServer(TestHandler()) { server in
            let wire = try server.wire()
            try wire.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n")
            #expect(try wire.answer().status == 100)
            try wire.send("abc")
            #expect(try wire.answer().text == "abc")
            for place in ["ignore", "hello", "nothing"] {
                let other = try server.wire()
                try other.send(
                    "POST /\(place) HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n")
                let all = try other.readToEnd()
                #expect(!all.contains("100 Continue"))
                #expect(all.contains("Connection: close"))
            }
        }
    }

    @Test("streams are chunked, or counted, or end with the connection") func streams() async throws {
        try await withServer(TestHandler()) { server in
            let wire = try server.wire()
            let chunked = try wire.ask("GET /stream HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(chunked.fields["transfer-encoding"] == "chunked")
            #expect(chunked.body.count == 3_890)
            let counted = try wire.ask("GET /counted HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(counted.text == "0123456789")
            let head = try wire.ask("HEAD /stream HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(head.status == 200)
            #expect(try wire.ask("HEAD /counted HTTP/1.1\r\nHost: a\r\n\r\n").fields["content-length"] == "10")
            #expect(try wire.ask(get).status == 200)
            let old = try server.wire()
            let answer = try old.ask("GET /stream HTTP/1.0\r\n\r\n")
            #expect(answer.body.count == 3_890)
            #expect(answer.fields["transfer-encoding"] == nil)
        }
    }

    @Test("a stream that comes up short ends the connection") func shortStream() async throws {
        try await withServer(TestHandler()) { server in
            let wire = try server.wire()
            try wire.send("GET /short HTTP/1.1\r\nHost: a\r\n\r\n" + get)
            let all = try wire.readToEnd()
            #expect(all.hasSuffix("01234"))
        }
    }

    @Test("a body nobody reads is skipped") func ignoredBody() async throws {
        try await withServer(TestHandler()) { server in
            let wire = try server.wire()
            for place in ["ignore", "hello"] {
                try wire.send("POST /\(place) HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nGET /" + get)
                #expect(try wire.answer().status == 200)
                #expect(try wire.answer().status == 200)
            }
        }
    }

    @Test("large bodies come and go whole", arguments: [1, 65_536, 65_537, 3_000_000, 20_000_000])
    func largeBodies(size: Int) async throws {
        try await withServer(TestHandler()) { server in
            let wire = try server.wire()
            var data = [UInt8](repeating: 0, count: size)
            for index in data.indices { data[index] = UInt8(truncatingIfNeeded: index &* 31 &+ index / 251) }
            try server.directory.write(data, to: "data")
            let answer = try wire.ask("GET /file HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(answer.body == data)
            let pieces = try wire.ask("GET /pieces HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(pieces.body.count == size + 2)
            #expect(pieces.body.dropFirst().dropLast().elementsEqual(data))
            try wire.send("PUT /count HTTP/1.1\r\nHost: a\r\nContent-Length: \(size)\r\n\r\n")
            try wire.send(data)
            #expect(try wire.answer().text == "\(size)\n")
            #expect(try wire.ask(get).status == 200)
        }
    }

    @Test(
        "a body that goes to a file comes whole, and not a byte behind it", arguments: [1, 70_000, 300_000, 9_000_001])
    func storing(size: Int) async throws {
        try await withServer(TestHandler()) { server in
            var data = [UInt8](repeating: 0, count: size)
            for index in data.indices { data[index] = UInt8(truncatingIfNeeded: index &* 31 &+ index / 251) }
            let wire = try server.wire()
            try wire.send("PUT /store HTTP/1.1\r\nHost: a\r\nContent-Length: \(size)\r\nExpect: 100-continue\r\n\r\n")
            #expect(try wire.answer().status == 100)
            try wire.send(data + Array(get.utf8))
            #expect(try wire.answer().status == 204)
            #expect(try wire.answer().text == "hello\n")
            #expect(server.directory.read("stored") == data)

            try wire.send("PUT /store HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
            var rest = data[...]
            var step = 1
            while !rest.isEmpty {
                let piece = rest.prefix(step)
                try wire.send(Array("\(String(piece.count, radix: 16))\r\n".utf8) + piece + [13, 10])
                rest = rest.dropFirst(piece.count)
                step = step * 3 + 1
            }
            try wire.send("0\r\nX: y\r\n\r\n" + get)
            #expect(try wire.answer().status == 204)
            #expect(try wire.answer().text == "hello\n")
            #expect(server.directory.read("stored") == data)
        }
    }

    @Test("a sender that ends its side right behind the body is not read out of order") func endedSender() async throws
    {
        try await withServer(TestHandler()) { server in
            for round in 0..<20 {
                let size = 200_000 + round * 100_003
                var data = [UInt8](repeating: 0, count: size)
                for index in data.indices { data[index] = UInt8(truncatingIfNeeded: index &* 7 &+ index / 253) }
                let wire = try server.wire()
                try wire.send("PUT /store HTTP/1.1\r\nHost: a\r\nContent-Length: \(size)\r\n\r\n")
                try wire.send(data)
                wire.endOutput()
                #expect(try wire.readToEnd().hasPrefix("HTTP/1.1 204"))
                #expect(server.directory.read("stored") == data)
            }
        }
    }

    @Test("a truncated body changes nothing") func truncated() async throws {
        try await withServer(TestHandler()) { server in
            try server.directory.write("old", to: "stored")
            for size in [10, 100_000, 3_000_000] {
                let wire = try server.wire()
                try wire.send("PUT /store HTTP/1.1\r\nHost: a\r\nContent-Length: \(size + 1)\r\n\r\n")
                try wire.send([UInt8](repeating: 7, count: size))
                wire.endOutput()
                #expect(try wire.readToEnd().hasPrefix("HTTP/1.1 400"))
                let other = try server.wire()
                try other.send("PUT /store HTTP/1.1\r\nHost: a\r\nContent-Length: \(size + 1)\r\n\r\n")
                try other.send([UInt8](repeating: 7, count: size))
                other.reset()
            }
            #expect(server.directory.text("stored") == "old")
        }
    }

    @Test("a body that stalls is answered with 408 and changes nothing") func stalledUpload() async throws {
        let impatience = { (configuration: inout ServerConfiguration) in
            configuration.limits.bodyStallTime = .seconds(1)
        }
        try await withServer(TestHandler(), configure: impatience) { server in
            let wire = try server.wire()
            try wire.send("PUT /store HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n")
            try wire.send([UInt8](repeating: 7, count: 500_000))
            #expect(try wire.readToEnd().hasPrefix("HTTP/1.1 408"))
        }
    }

    @Test("a client does not pay for a reader that takes its time") func slowReader() async throws {
        let impatience = { (configuration: inout ServerConfiguration) in
            configuration.limits.bodyStallTime = .seconds(1)
        }
        try await withServer(TestHandler(), configure: impatience) { server in
            let wire = try server.wire()
            // The reader waits before the first byte comes.
            let head = "PUT /slow HTTP/1.1\r\nHost: a\r\nContent-Length: 2000000\r\nExpect: 100-continue\r\n\r\n"
            #expect(try wire.ask(head).status == 100)
            try wire.send([UInt8](repeating: 97, count: 2_000_000))
            let answer = try wire.answer()
            #expect(answer.status == 200)
            #expect(answer.text == "2000000\n")
        }
    }

    @Test("gzip bodies come out decoded; other codings, damage and bombs are refused") func gzipBodies() async throws {
        try await withServer(TestHandler()) { server in
            func post(_ coding: String, _ body: [UInt8], to place: String = "count") throws -> Wire.Answer {
                let wire = try server.wire()
                try wire.send(
                    "POST /\(place) HTTP/1.1\r\nHost: a\r\nContent-Encoding: \(coding)\r\nContent-Length: \(body.count)\r\n\r\n"
                )
                try wire.send(body)
                return try wire.answer()
            }
            func gzip(_ bytes: [UInt8]) throws -> [UInt8] {
                let deflater = try Deflater()
                return deflater.compress(bytes) + deflater.finish()
            }
            let hello = try gzip(Array("hello".utf8))
            let bomb = try gzip([UInt8](repeating: 0, count: 50_000_000))
            #expect(try post("gzip", hello, to: "echo").text == "hello")
            #expect(try post("br", [1, 2, 3]).status == 415)
            #expect(try post("gzip, gzip", [1, 2, 3]).status == 415)
            #expect(try post("gzip", [1, 2, 3]).status == 400)
            #expect(try post("gzip", hello.dropLast(3)).status == 400)
            #expect(try post("gzip", bomb).status == 413)
            #expect(try post("gzip", []).status == 400)
            #expect(try post("br", []).status == 415)
            #expect(try post("identity", []).text == "0\n")
            #expect(try post("gzip", gzip([])).text == "0\n")
        }
    }

    @Test("unknown methods, unknown places, wrong methods") func refusals() async throws {
        try await withServer(TestHandler()) { server in
            let wire = try server.wire()
            #expect(try wire.ask("BREW /nowhere HTTP/1.1\r\nHost: a\r\n\r\n").status == 501)
            #expect(try wire.ask("GET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n").status == 404)
            let wrong = try wire.ask("PUT /nowhere HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n")
            #expect(wrong.status == 405)
            #expect(wrong.fields["allow"] == "GET, HEAD, OPTIONS, POST")
            #expect(try wire.ask("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n").status == 200)
            #expect(try wire.ask("GET /failing HTTP/1.1\r\nHost: a\r\n\r\n").status == 409)
        }
    }

    @Test(
        "targets that name nothing in the share are refused, each for itself",
        arguments: ["/%00", "/a%2Fb", "/a%2fb", "/%zz", "/%2", "/a/../b", "/a/%2e%2E/b", "/%2e/a", "/.."])
    func badTargets(target: String) async throws {
        try await withServer(TestHandler()) { server in
            let wire = try server.wire()
            #expect(try wire.ask("GET \(target) HTTP/1.1\r\nHost: a\r\n\r\n").status == 400)
            #expect(try wire.ask(get).status == 200)
        }
    }

    @Test("absolute-form targets name the host") func absoluteForm() async throws {
        try await withServer(TestHandler()) { server in
            let wire = try server.wire()
            let answer = try wire.ask("GET http://b:80/target/?q=1 HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(answer.text == "b:80 q=1 true\n")
            #expect(try wire.ask("GET http://b HTTP/1.1\r\nHost: a\r\n\r\n").status == 404)
        }
    }

    @Test("a refused request ends the connection, and nothing after it is read", arguments: RefusedRequests.all)
    func refused(request: String) async throws {
        try await withServer(TestHandler()) { server in
            let wire = try server.wire()
            try wire.send(request + get + get)
            let all = try wire.readToEnd()
            let status = all.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
            #expect((400...599).contains(status), "\(request.debugDescription): \(all.prefix(100))")
            #expect(all.components(of: "\r\nDate: ") == 1)
            #expect(!all.contains("HTTP/1.1 200"))
        }
    }

    @Test(
        "a HEAD that is refused gets no body, whatever is wrong with it",
        arguments: [
            "/hello HTTP/1.1\r\n\r\n", "/hello HTTP/1.1\r\nHost: a\r\nX y\r\n\r\n",
            "/hello HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n", "/hello HTTP/3.0\r\nHost: a\r\n\r\n",
            "/hello HTTP/1.1\r\nHost: a\r\nX: \(String(repeating: "a", count: 70_000))\r\n\r\n",
            "ftp://a/ HTTP/1.1\r\nHost: a\r\n\r\n",
        ]) func refusedHead(rest: String) async throws
    {
        try await withServer(TestHandler()) { server in
            for lead in ["", "\r\n", get] {
                let wire = try server.wire()
                if lead == get { #expect(try wire.ask(get).status == 200) } else { try wire.send(lead) }
                try wire.send("HEAD " + rest)
                let all = try wire.readToEnd()
                #expect(all.hasPrefix("HTTP/1.1 ") && all.hasSuffix("\r\n\r\n"), "\(all)")
            }
        }
    }

    @Test("heads beyond the limits are refused with their status") func limits() async throws {
        try await withServer(TestHandler()) { server in
            let fields = String(repeating: "X: y\r\n", count: 200)
            let cases: [(String, Int)] = [
                ("GET /\(String(repeating: "a", count: 40_000)) HTTP/1.1\r\nHost: a\r\n\r\n", 414),
                ("GET /\(String(repeating: "a", count: 140_000))", 414),
                ("GET / HTTP/1.1\r\nHost: a\r\n\(fields)\r\n", 431),
                ("GET / HTTP/1.1\r\nHost: a\r\nX: \(String(repeating: "a", count: 70_000))\r\n\r\n", 431),
                ("GET / HTTP/2.0\r\nHost: a\r\n\r\n", 505),
                ("GET /hello HTTP/1.2\r\nHost: a\r\n\r\n", 200),
                ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
                ("GET / HTTP/1.1\r\nHost: a\r\nExpect: magic\r\n\r\n", 417),
            ]
            for (request, status) in cases {
                let wire = try server.wire()
                try wire.send(request)
                #expect(try wire.answer().status == status)
            }
        }
    }

    @Test("a slow head is answered with 408, an idle connection is closed") func slowHead() async throws {
        let impatience = { (configuration: inout ServerConfiguration) in
            configuration.limits.headTime = .seconds(1)
            configuration.limits.idleTime = .seconds(1)
            configuration.limits.bodyStallTime = .seconds(1)
        }
        try await withServer(TestHandler(), configure: impatience) { server in
            let slow = try server.wire()
            try slow.send("GET /hello HTTP/1.1\r\nHo")
            let idle = try server.wire()
            let body = try server.wire()
            try body.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nab")
            #expect(try slow.readToEnd().hasPrefix("HTTP/1.1 408"))
            #expect(try idle.readToEnd().isEmpty)
            #expect(try body.readToEnd().hasPrefix("HTTP/1.1 408"))
        }
    }

    @Test("the cache of open files never answers with what was") func freshness() async throws {
        try await withServer(TestHandler()) { server in
            let wire = try server.wire()
            func ask(_ name: String = "a.txt") throws -> Wire.Answer {
                try wire.ask("GET /\(name) HTTP/1.1\r\nHost: a\r\n\r\n")
            }
            for round in 0..<50 {
                try server.directory.write("content \(round)", to: "a.txt")
                #expect(try ask().text == "content \(round)")
                let again = try ask()
                #expect(again.text == "content \(round)")
                #expect(again.fields["content-type"]?.hasPrefix("text/plain") == true)
                #expect(again.fields["etag"] != nil)
                #expect(again.fields["last-modified"] != nil)
            }
            unlink(server.directory.path(of: "a.txt"))
            #expect(try ask().status == 404)
            try server.directory.write("inside", to: "folder/b.txt")
            #expect(try ask("folder/b.txt").text == "inside")
            #expect(try ask("folder/b.txt").text == "inside")
            rename(server.directory.path(of: "folder"), server.directory.path(of: "moved"))
            #expect(try ask("folder/b.txt").status == 404)
            symlink("/etc", server.directory.path(of: "folder"))
            #expect(try ask("folder/passwd").status == 404)
            #expect(try ask("moved/b.txt").text == "inside")
            chmod(server.directory.path(of: "moved/b.txt"), 0o600)
            #expect(try ask("moved/b.txt").text == "inside")
        }
    }

    @Test("an answer made for many is given to the same question only, and not after a change")
    func answerForMany() async throws {
        try await withServer(TestHandler()) { server in
            let wire = try server.wire()
            let same = "GET /a.txt HTTP/1.1\r\nHost: a\r\n\r\n"
            for round in ["first", "second"] {
                try server.directory.write("\(round) content", to: "a.txt")
                try wire.send(
                    String(repeating: same, count: 20) + "GET /a.txt HTTP/1.1\r\nHost: a\r\nRange: bytes=0-2\r\n\r\n"
                        + "HEAD /a.txt HTTP/1.1\r\nHost: a\r\n\r\n" + same)
                for _ in 0..<20 { #expect(try wire.answer().text == "\(round) content") }
                #expect(try wire.answer().text == round.prefix(3))
                #expect(try wire.answer(toHead: true).status == 200)
                #expect(try wire.answer().text == "\(round) content")
            }
        }
    }

    @Test("each request is one line of the log, whatever it holds", arguments: AccessLog.Format.allCases)
    func accessLog(format: AccessLog.Format) async throws {
        let lines = Mutex<[UInt8]>([])
        try await withServer(
            TestHandler(),
            configure: { configuration in
                configuration.accessLog = AccessLog(format: format) { bytes in lines.withLock { $0 += bytes } }
            },
            { server in
                let wire = try server.wire()
                _ = try wire.ask(get)
                _ = try wire.ask(
                    "GET /\u{e4}%0a\"<x> HTTP/1.1\r\nHost: a\r\nUser-Agent: \"q\u{9}\u{e4}\r\nReferer: b\r\n\r\n")
                let bad = try server.wire()
                try bad.send("GET / HTTP/1.1\r\nX\r\n\r\n")
                _ = try bad.readToEnd()
            })
        let text = lines.withLock { String(decoding: $0, as: UTF8.self) }
        let all = text.split(separator: "\n")
        #expect(all.count == 3)
        #expect(all.allSatisfy { line in line.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F } })
        #expect(all.first?.contains("/hello") == true)
        #expect(all.first?.contains("127.0.0.1") == true)
    }

    @Test("a connection beyond the limit is told so, or an idle one makes room") func connectionLimit() async throws {
        let narrow = { (configuration: inout ServerConfiguration) in configuration.limits.connections = 3 }
        try await withServer(TestHandler(), configure: narrow) { server in
            let idle = [try server.wire(), try server.wire(), try server.wire()]
            for wire in idle { #expect(try wire.ask(get).status == 200) }
            for _ in 0..<5 {
                let wire = try server.wire()
                #expect(try wire.ask(get).status == 200)
            }
        }
    }

    @Test("health and metrics answer") func metrics() async throws {
        try await withServer(TestHandler()) { server in
            let other = Server(configuration: ServerConfiguration(root: server.root))
            let handler = StatusHandler(of: other)
            let share = Share(root: server.root)
            for (path, part) in [("health", "ok"), ("metrics", "shareserve_requests_total 0")] {
                let request = try Request.forTesting(path: "/.shareserve/\(path)", share: share)
                guard case .now(let response) = handler.answer(request), case .bytes(let bytes) = response.body else {
                    Issue.record("not answered at once")
                    continue
                }
                #expect(String(decoding: bytes, as: UTF8.self).contains(part))
            }
        }
    }

    @Test("a client that half-closes still gets its answer") func halfClose() async throws {
        try await withServer(TestHandler()) { server in
            let wire = try server.wire()
            try wire.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc" + get)
            wire.endOutput()
            let all = try wire.readToEnd()
            #expect(all.contains("\r\n\r\nabcHTTP/1.1 200"))
            #expect(all.hasSuffix("hello\n"))
        }
    }

    @Test("a request in work is finished in the grace time, and no connection is taken") func shutDown() async throws {
        let server = try await ServerUnderTest([TestHandler()])
        let idle = try server.wire()
        #expect(try idle.ask(get).status == 200)
        let busy = try server.wire()
        // The request is being handled once its body is requested.
        #expect(
            try busy.ask("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n").status
                == 100)
        try busy.send("a")
        // On separate threads: while this one waits for its socket, other tests may hold all threads of the tasks.
        let threads = PoolThreads(count: 2)
        try await withTaskExecutorPreference(threads) {
            async let ended: Void = server.server.shutDown(grace: .seconds(60))
            #expect(try idle.readToEnd().isEmpty)
            #expect(throws: (any Error).self) { _ = try server.wire() }
            try busy.send("bc")
            #expect(try busy.readToEnd().hasSuffix("abc"))
            await ended
        }
        await threads.shutDown()
    }

    @Test("a port in use is told as such") func busyPort() async throws {
        try await withServer(TestHandler()) { server in
            await #expect(throws: ListenError.portInUse(host: "127.0.0.1", port: server.port)) {
                _ = try await ServerUnderTest([]) {
                    $0.addresses = [.internet(host: "127.0.0.1", port: server.port)]
                }
            }
        }
    }

    @Test("a stale socket file is replaced, one in use is not") func unixSocket() async throws {
        let directory = try TemporaryDirectory()
        let path = directory.path(of: "socket")
        try directory.write("x", to: "plain")
        let first = try await ServerUnderTest([]) { $0.addresses.append(.unix(path: path)) }
        await #expect(throws: ListenError.socketInUse(path: path)) {
            _ = try await ServerUnderTest([]) { $0.addresses = [.unix(path: path)] }
        }
        await #expect(throws: ListenError.notASocket(path: directory.path(of: "plain"))) {
            _ = try await ServerUnderTest([]) { $0.addresses = [.unix(path: directory.path(of: "plain"))] }
        }
        await first.stop()
        // What a killed process leaves behind.
        let stale = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        unlink(path)
        _ = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(stale, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        close(stale)
        let second = try await ServerUnderTest([]) { $0.addresses.append(.unix(path: path)) }
        await second.stop()
    }
}

extension String {
    /// How often `part` occurs.
    func components(of part: String) -> Int {
        var count = 0
        var rest = self[...]
        while let range = rest.firstRange(of: part) {
            count += 1
            rest = rest[range.upperBound...]
        }
        return count
    }
}
