import DirectoryRoot
import Foundation
import ServerCore
import Synchronization
import TestSupport
import Testing
import WebDAV
import WebUploader

/// What an app sees that uses the libraries: their public names alone.
@Suite("Embedding")
struct EmbeddingTests {
    let directory: TemporaryDirectory
    /// A folder for ``address``.
    private let beside: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
        beside = try TemporaryDirectory()
    }

    /// An address that is known before a server listens there, and that nobody else takes meanwhile.
    private var address: ListenAddress { .unix(path: beside.path(of: "socket")) }

    /// A server at a free port.
    private func embed(
        _ handlers: any Handler..., change: (inout ServerConfiguration) throws -> Void = { _ in }
    ) throws -> Server {
        var configuration = ServerConfiguration(root: try DirectoryRoot(path: directory.path))
        configuration.addresses = [.internet(host: "127.0.0.1", port: 0)]
        configuration.eventLoops = 1
        try change(&configuration)
        let server = Server(configuration: configuration)
        for handler in handlers { server.add(handler) }
        return server
    }

    private static let events = "/.shareserve/events?in=/"
    private static let browser = ["User-Agent: Mozilla/5.0", "Accept: text/html"]

    /// Begins an event stream, and waits for its first bytes.
    private func listen(_ address: ListenAddress, _ lines: [String] = []) async throws -> (Client, String) {
        let client = try Client(address)
        try client.send("GET", Self.events, lines)
        return (client, try await client.read(to: "retry: 3000\n\n"))
    }

    // MARK: - The example

    @Test("The example of the README is the one that is tested")
    func readme() throws {
        let here = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        let readme = try String(contentsOf: here.appendingPathComponent("../../README.md"), encoding: .utf8)
        let example = try String(contentsOf: here.appendingPathComponent("Example.swift"), encoding: .utf8)
        #expect(readme.contains("```swift\n\(example)```\n"))
    }

    @Test("The example serves files, WebDAV, the page and its own address, and asks in the page")
    func example() async throws {
        let server = try makeServer(of: directory.path, port: 0)
        let address = try #require(try await server.start().first)
        let put = try await Client.ask(address, "PUT", "/note.txt", [Client.anna], body: "text")
        #expect(put.hasPrefix("HTTP/1.1 201 "))
        #expect(directory.text("note.txt") == "text")
        #expect(try await Client.ask(address, "GET", "/note.txt", [Client.anna]).hasSuffix("\r\n\r\ntext"))
        #expect(try await Client.ask(address, "GET", "/hello", [Client.anna]).hasSuffix("\r\n\r\nHello anna\n"))
        #expect(try await Client.ask(address, "PROPFIND", "/", [Client.anna, "Depth: 1"]).contains("/note.txt</"))
        let page = try await Client.ask(address, "GET", "/", [Client.anna] + Self.browser)
        #expect(page.hasPrefix("HTTP/1.1 200 ") && page.contains("<html"))
        let asked = try await Client.ask(address, "GET", "/", Self.browser)
        #expect(asked.hasPrefix("HTTP/1.1 401 ") && asked.contains("<html") && asked.contains("Session realm="))
        await server.shutDown(grace: .zero)
        try await untilClosed(address)
    }

    // MARK: - Starting and ending

    @Test("A server that was shut down starts again, with live events", arguments: [false, true])
    func again(byRun: Bool) async throws {
        let server = try embed(WebDAVHandler(), UploaderHandler()) {
            $0.addresses = [address]
        }
        for _ in 0..<3 {
            let running = byRun ? Task { try await server.run() } : nil
            if byRun { try await untilOpen(address) } else { try await server.start() }
            let (client, events) = try await listen(address)
            #expect(events.hasPrefix("HTTP/1.1 200 ") && events.contains("retry: 3000\n\n"))
            await server.shutDown(grace: .seconds(20))
            try await running?.value
            // The handler was told, so that it need not wait for the grace to pass.
            #expect(try await client.read().hasSuffix("0\r\n\r\n"))
            #expect(Client.isClosed(address))
        }
    }

    @Test("A shutdown while the server starts is not lost")
    func whileStarting() async throws {
        let server = try embed { $0.addresses = [address] }
        let hasBegun = Mutex(false)
        let (begun, begins) = AsyncStream.makeStream(of: Void.self)
        async let stopping: Void = {
            for await _ in begun { break }
            hasBegun.withLock { $0 = true }
            await server.shutDown(grace: .zero)
        }()
        do {
            try await server.start {
                begins.yield()
                while !hasBegun.withLock({ $0 }) { usleep(1_000) }
                // Enough for it to find the server starting; if it is not, it finds it running.
                usleep(50_000)
            }
        } catch {
            #expect(error is CancellationError)
        }
        await stopping
        #expect(Client.isClosed(address))
        // It can be started all the same.
        try await server.start()
        #expect(!Client.isClosed(address))
        await server.shutDown(grace: .zero)
    }

    @Test("A shutdown while a start waits for the one before is not lost, and ends with its own grace")
    func whileStartWaits() async throws {
        let slow = Slow()
        let server = try embed(slow) { $0.addresses = [address] }
        try await server.start()
        let client = try await slow.ask(address)
        let began = ContinuousClock.now
        async let first: Void = server.shutDown(grace: .seconds(600))
        try await wait { Client.isClosed(address) }
        let (begun, begins) = AsyncStream.makeStream(of: Void.self)
        let starting = Task {
            begins.yield()
            return try await server.start()
        }
        for await _ in begun { break }
        // Enough for it to begin to wait.
        try await Task.sleep(for: .milliseconds(500))
        await server.shutDown(grace: .zero)
        await first
        await #expect(throws: CancellationError.self) { try await starting.value }
        #expect(Client.isClosed(address))
        #expect(ContinuousClock.now - began < .seconds(300))
        #expect(try await client.read() == "")
        try await server.start()
        #expect(!Client.isClosed(address))
        await server.shutDown(grace: .zero)
    }

    @Test("Cancelling the task that runs a server ends it without grace, though it is ending with some already")
    func cancelledEnding() async throws {
        let slow = Slow()
        let server = try embed(slow) { $0.addresses = [address] }
        let running = Task { try await server.run() }
        try await untilOpen(address)
        let client = try await slow.ask(address)
        let began = ContinuousClock.now
        async let ending: Void = server.shutDown(grace: .seconds(600))
        try await wait { Client.isClosed(address) }
        running.cancel()
        try await running.value
        await ending
        #expect(ContinuousClock.now - began < .seconds(300))
        #expect(try await client.read() == "")
    }

    @Test("A start in a task that is cancelled is none")
    func cancelledStart() async throws {
        let server = try embed { $0.addresses = [address] }
        await #expect(throws: CancellationError.self) {
            try await Task {
                withUnsafeCurrentTask { $0?.cancel() }
                try await server.start()
            }.value
        }
        #expect(Client.isClosed(address))
        await server.shutDown(grace: .zero)
    }

    @Test("A server that runs is not started once more")
    func twice() async throws {
        let server = try embed(Hello())
        let address = try #require(try await server.start().first)
        await #expect(throws: ServerError.isRunning) { try await server.start() }
        #expect(try await Client.ask(address, "GET", "/hello").hasPrefix("HTTP/1.1 200 "))
        await server.shutDown(grace: .zero)
        try await untilClosed(address)
    }

    @Test("A handler is told of each beginning and end, also when the task that runs the server is cancelled")
    func told() async throws {
        let log = Told()
        let server = try embed(log) { $0.addresses = [address] }
        let running = Task { try await server.run() }
        try await untilOpen(address)
        running.cancel()
        try await running.value
        #expect(log.events == ["begins", "ends"])
        try await server.start()
        await server.shutDown(grace: .zero)
        await server.shutDown(grace: .zero)
        #expect(log.events == ["begins", "ends", "begins", "ends"])
        await #expect(throws: Told.self) { try await server.start { throw log } }
        #expect(log.events.count == 6)
    }

    @Test("A server that nobody refers to any more ends")
    func dropped() async throws {
        let log = Told()
        var server: Server? = try embed(log)
        let address = try #require(try await server?.start().first)
        #expect(!Client.isClosed(address))
        server = nil
        try await untilClosed(address)
        #expect(log.events == ["begins", "ends"])
    }

    @Test("A program that the app has begun keeps neither the address in use nor a connection open")
    func child() async throws {
        let server = try embed(try UploaderHandler())
        let address = try #require(try await server.start().first)
        let client = try Client(address)
        let form = ["Content-Type: multipart/form-data; boundary=x", "Content-Length: 5", "Expect: 100-continue"]
        try client.send("POST", "/", form)
        #expect(try await client.read(to: "\r\n\r\n").hasPrefix("HTTP/1.1 100 "))
        var child: pid_t = 0
        let words = ["sleep", "600"]
        var arguments = words.map { strdup($0) } + [nil]
        defer { for argument in arguments { free(argument) } }
        let status = posix_spawnp(&child, words[0], nil, nil, &arguments, environ)
        try #require(status == 0)
        defer {
            kill(child, SIGKILL)
            waitpid(child, nil, 0)
        }
        await server.shutDown(grace: .zero)
        // Another test's child has all descriptors until it is another program. Not asked often: nobody accepts these.
        for _ in 0..<100 where !Client.isClosed(address) { try await Task.sleep(for: .milliseconds(50)) }
        #expect(Client.isClosed(address))
        // Fails when the end does not come.
        _ = try await client.read()
    }

    @Test("Two servers with one page serve on their own: what ends with one begins anew with the other")
    func twoServers() async throws {
        let uploader = try UploaderHandler()
        let first = try embed(uploader)
        let second = try embed(uploader) { try $0.access.addUser("anna", password: "secret") }
        let one = try #require(try await first.start().first)
        let two = try #require(try await second.start().first)
        #expect(try await listen(one).1.hasPrefix("HTTP/1.1 200 "))
        await first.shutDown(grace: .seconds(20))
        try await untilClosed(one)
        #expect(try await Client.ask(two, "GET", "/", ["Accept: text/html"]).hasPrefix("HTTP/1.1 401 "))
        let (client, events) = try await listen(two, [Client.anna])
        #expect(events.hasPrefix("HTTP/1.1 200 "))
        await second.shutDown(grace: .seconds(20))
        #expect(try await client.read().hasSuffix("0\r\n\r\n"))
    }

    // MARK: - Settings

    @Test("A port that is none is refused", arguments: [70_000, 65_536, -1])
    func ports(number: Int) async throws {
        let server = try embed { $0.addresses = [.internet(host: "127.0.0.1", port: number)] }
        let refusal = ListenError.refused(address: "port \(number)", reason: "ports end at 65535")
        await #expect(throws: refusal) { try await server.start() }
        let redirecting = try embed {
            $0.tls = TLSSettings(identity: .selfSigned(names: ["localhost"]))
            $0.redirectPort = number
        }
        await #expect(throws: refusal) { try await redirecting.start() }
    }

    @Test("Without a log-in page, browsers ask themselves; new rules without one keep the page")
    func logIn() async throws {
        let server = try embed(WebDAVHandler()) { try $0.access.addUser("anna", password: "secret") }
        let address = try #require(try await server.start().first)
        #expect(try await Client.ask(address, "GET", "/", Self.browser).contains("WWW-Authenticate: Basic realm="))
        var rules = AccessRules()
        try rules.addUser("anna", password: "secret")
        rules.logInPage = { _ in .text(.ok, "the page") }
        server.replaceAccess(rules)
        #expect(try await Client.ask(address, "GET", "/", Self.browser).hasSuffix("the page\n"))
        rules.logInPage = nil
        server.replaceAccess(rules)
        #expect(try await Client.ask(address, "GET", "/", Self.browser).hasSuffix("the page\n"))
        await server.shutDown(grace: .zero)
    }

    @Test("A log-in page that is made while it is sent is an error of the server, and no answer that never comes")
    func logInStream() async throws {
        let server = try embed(Hello()) {
            try $0.access.addUser("anna", password: "secret")
            $0.access.logInPage = { _ in Response(.ok, body: .stream(length: nil) { try await $0.write([0x78]) }) }
        }
        let address = try #require(try await server.start().first)
        #expect(try await Client.ask(address, "GET", "/", Self.browser).hasPrefix("HTTP/1.1 500 "))
        await server.shutDown(grace: .zero)
    }

    @Test(
        "A user's password is what it is, whatever it looks like",
        arguments: ["a@/b:rw", "$6$salt$hash", "{SHA}x", "a|b@/c", ":", "@"])
    func passwords(password: String) async throws {
        var rules = AccessRules()
        try rules.addUser("bob", password: password, rights: .readOnly)
        #expect(throws: AccessRuleError.self) { try rules.addUser("bob", password: "another") }
        #expect(throws: AccessRuleError.self) { try rules.addUser("a:b", password: password) }
        #expect(throws: AccessRuleError.self) { try rules.addUser("a:\u{301}b", password: password) }
        #expect(throws: AccessRuleError.self) { try rules.addUser("", password: password) }
        #expect(throws: AccessRuleError.self) { try rules.addUser("eve", password: "") }
        let server = try embed(WebDAVHandler(), UploaderHandler()) { $0.access = rules }
        let address = try #require(try await server.start().first)
        let bob = "Authorization: Basic " + Data("bob:\(password)".utf8).base64EncodedString()
        #expect(try await Client.ask(address, "GET", "/", [bob]).hasPrefix("HTTP/1.1 200 "))
        #expect(try await Client.ask(address, "PUT", "/a", [bob], body: "x").hasPrefix("HTTP/1.1 403 "))
        await server.shutDown(grace: .zero)
    }

    @Test("Limits without an end are limits")
    func limits() async throws {
        try directory.write("0123456789", to: "data")
        let server = try embed(UploaderHandler()) { $0.limits.ranges = .max }
        let address = try #require(try await server.start().first)
        #expect(try await Client.ask(address, "GET", "/data", ["Range: bytes=2-3"]).hasSuffix("\r\n\r\n23"))
        await server.shutDown(grace: .zero)
    }

    @Test("An app's own action for a signal stays")
    func signals() throws {
        signal(SIGXFSZ) { _ in }
        defer { signal(SIGXFSZ, SIG_IGN) }
        _ = try DirectoryRoot(path: directory.path)
        var now = sigaction()
        sigaction(SIGXFSZ, nil, &now)
        #if os(Linux)
            let action = now.__sigaction_handler.sa_handler
        #else
            let action = now.__sigaction_u.__sa_handler
        #endif
        let address = action.map { UInt(bitPattern: unsafeBitCast($0, to: UnsafeRawPointer?.self)) }
        #expect(address.map { $0 > 1 } == true)
    }

    // MARK: - Responses

    @Test("What a handler can't have meant is an error of the server", arguments: Odd.answers, ["", "later/", "disk/"])
    func odd(name: String, kind: String) async throws {
        try directory.write("0123456789", to: "data")
        let server = try embed(Odd())
        let address = try #require(try await server.start().first)
        let target = "/\(kind)\(name)".replacing(" ", with: "%20")
        #expect(try await Client.ask(address, "GET", target).hasPrefix("HTTP/1.1 500 "))
        #expect(try await Client.ask(address, "GET", "/fine").hasPrefix("HTTP/1.1 200 "))
        await server.shutDown(grace: .zero)
    }

    @Test("A stream that sends a span before the file's beginning is cut off")
    func oddSpan() async throws {
        try directory.write("0123456789", to: "data")
        let server = try embed(Odd())
        let address = try #require(try await server.start().first)
        #expect(try await !Client.ask(address, "GET", "/piece").hasSuffix("0\r\n\r\n"))
        #expect(try await Client.ask(address, "GET", "/fine").hasPrefix("HTTP/1.1 200 "))
        await server.shutDown(grace: .zero)
    }

    // MARK: - What the tests need

    private func untilOpen(_ address: ListenAddress) async throws { try await wait { !Client.isClosed(address) } }

    /// Waits until nobody listens at a port: for a moment, a program that another test begins has the socket too.
    private func untilClosed(_ address: ListenAddress) async throws {
        try await wait { Client.isClosed(address) }
        #expect(Client.isClosed(address))
    }

    /// Waits long enough for a machine on which all tests run at once.
    private func wait(until isSo: () -> Bool) async throws {
        let last = ContinuousClock.now + .seconds(120)
        while !isSo(), .now < last { try await Task.sleep(for: .milliseconds(5)) }
    }
}

/// Answers after a time that no test waits for.
private final class Slow: Handler {
    let methods: [Method] = [.get]
    private let isAsked = Mutex(false)

    func answer(_ request: Request) -> Answer {
        .later { _ in
            self.isAsked.withLock { $0 = true }
            try await Task.sleep(for: .seconds(600))
            return .text(.ok, "late")
        }
    }

    /// Sends a request, and waits until it is here.
    func ask(_ address: ListenAddress) async throws -> Client {
        let client = try Client(address)
        try client.send("GET", "/")
        while !isAsked.withLock({ $0 }) { try await Task.sleep(for: .milliseconds(5)) }
        return client
    }
}

/// Remembers what it was told; also the error of a start that fails.
private final class Told: Handler, Error {
    let methods: [Method] = [.get]
    private let heard = Mutex<[String]>([])

    var events: [String] { heard.withLock { $0 } }

    func answer(_ request: Request) -> Answer { .pass }
    func serverBegins() { heard.withLock { $0.append("begins") } }
    func serverEnds() { heard.withLock { $0.append("ends") } }
}

/// Answers what no handler should.
private struct Odd: Handler {
    static let answers = [
        "status -5", "status 0", "status 99", "status 100", "status 199", "status 600", "status 1000", "length -1",
        "span -10 5", "span -9223372036854775808 9223372036854775807",
    ]
    let methods: [Method] = [.get]

    func answer(_ request: Request) -> Answer {
        var words = String(decoding: request.path.bytes, as: UTF8.self).split(separator: "/")
        let name = words.popLast().map(String.init) ?? ""
        switch (name, words.first) {
        case ("fine", _): return .now(.text(.ok, "fine"))
        case ("piece", _):
            return .now(
                Response(
                    .ok, body: .stream(length: nil) { try await $0.write(Self.data(of: request), .min ..< .max) }))
        case (_, "later"): return .later { try Self.response(name, to: $0) }
        case (_, "disk"): return .onDisk { try Self.response(name, to: $0) }
        default:
            do { return .now(try Self.response(name, to: request)) } catch { return .pass }
        }
    }

    private static func data(of request: Request) throws -> Entry {
        try request.share.open(try SharePath(bytes: "data".utf8))
    }

    private static func response(_ name: String, to request: Request) throws -> Response {
        let words = name.split(separator: " ")
        let numbers = words.dropFirst().compactMap { Int64($0) }
        switch words[0] {
        case "status": return Response(Status(code: Int(numbers[0])), body: .bytes(Array("body".utf8)))
        case "length":
            return Response(.ok, body: .stream(length: numbers[0]) { try await $0.write(Array("body".utf8)) })
        default: return Response(.ok, body: .file(try data(of: request), numbers[0]..<numbers[1]))
        }
    }
}
