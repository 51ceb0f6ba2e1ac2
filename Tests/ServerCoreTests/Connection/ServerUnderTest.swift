import DirectoryRoot
import ServerCore
import TestSupport

/// A real server on a port of its own, over a fresh directory.
final class ServerUnderTest: Sendable {
    let directory: TemporaryDirectory
    let root: DirectoryRoot
    let server: Server
    let port: Int

    init(
        _ handlers: [any Handler], configure: (inout ServerConfiguration) -> Void = { _ in }
    ) async throws {
        directory = try TemporaryDirectory()
        root = try DirectoryRoot(path: directory.path)
        var configuration = ServerConfiguration(root: root)
        configuration.addresses = [.internet(host: "127.0.0.1", port: 0)]
        configuration.eventLoops = 1
        configuration.ioThreads = 4
        configuration.access.allowedHosts = ["a", "b"]
        configure(&configuration)
        server = Server(configuration: configuration)
        for handler in handlers { server.add(handler) }
        let addresses = try await server.start()
        guard case .internet(_, let port) = addresses[0] else { throw Wire.Failure(call: "start", number: 0) }
        self.port = port
    }

    func wire() throws -> Wire { try Wire(port: port) }

    func stop() async { await server.shutDown(grace: .zero) }
}

/// Runs `body` against a server, and ends the server whatever happens.
func withServer(
    _ handlers: any Handler..., configure: (inout ServerConfiguration) -> Void = { _ in },
    _ body: (ServerUnderTest) async throws -> Void
) async throws {
    let server = try await ServerUnderTest(handlers, configure: configure)
    do {
        try await body(server)
    } catch {
        await server.stop()
        throw error
    }
    await server.stop()
}

/// Answers by address, for tests of the connection alone.
struct TestHandler: Handler {
    let methods: [Method] = [.get, .head, .post, .put, .options]

    func answer(_ request: Request) -> Answer {
        switch String(decoding: request.path.bytes, as: UTF8.self) {
        case "hello": .now(.text(.ok, "hello"))
        case "empty": .now(Response(.noContent))
        case "target": .now(.text(.ok, "\(request.authority) \(request.query ?? "-") \(request.hasTrailingSlash)"))
        case "fields": .now(.text(.ok, request.fields["x-test"] ?? "none"))
        case "echo":
            .later { request in
                Response(.ok, body: .bytes(try await request.body.collect(upTo: 1_000_000)))
            }
        case "count":
            .later { request in
                var count = 0
                for try await bytes in request.body { count += bytes.count }
                return .text(.ok, "\(count)")
            }
        case "slow":
            .later { request in
                var count = 0
                for try await bytes in request.body {
                    // Like a disk that has to spin up first.
                    if count == 0 { try await Task.sleep(for: .seconds(4)) }
                    count += bytes.count
                }
                return .text(.ok, "\(count)")
            }
        case "store":
            .later { request in
                let upload = try request.share.beginUpload(
                    to: SharePath(unchecked: Array("stored".utf8)), replacing: .anything, size: request.body.length)
                try await request.body.copy(to: upload)
                _ = try upload.commit()
                return Response(.noContent)
            }
        case "ignore": .later { _ in .text(.ok, "ignored") }
        case "stream":
            .later { _ in
                Response(
                    .ok,
                    body: .stream(length: nil) { writer in
                        for number in 0..<1_000 { try await writer.write(Array("\(number)\n".utf8)) }
                    })
            }
        case "counted":
            .later { _ in
                Response(.ok, body: .stream(length: 10) { try await $0.write(Array("0123456789".utf8)) })
            }
        case "short":
            .later { _ in
                Response(.ok, body: .stream(length: 10) { try await $0.write(Array("01234".utf8)) })
            }
        case "failing": .later { _ in throw HTTPError(.conflict, "no") }
        case "file":
            .later { request in
                let entry = try await request.io.run {
                    try request.share.open(SharePath(unchecked: Array("data".utf8)))
                }
                return Response(.ok, body: .file(entry, 0..<entry.attributes.size))
            }
        case "pieces":
            .later { request in
                let entry = try request.share.open(SharePath(unchecked: Array("data".utf8)))
                return Response(
                    .ok,
                    body: .stream(length: nil) { writer in
                        try await writer.write(Array("<".utf8))
                        try await writer.write(entry, 0..<entry.attributes.size)
                        try await writer.write(Array(">".utf8))
                    })
            }
        default: Self.file(request)
        }
    }

    /// Responds with a file as the handlers do: at once if it is in the page cache.
    private static func file(_ request: Request) -> Answer {
        guard request.method == .get || request.method == .head else { return .pass }
        do {
            let entry = try request.share.open(request.path, waiting: false)
            guard !entry.attributes.isDirectory else { return .pass }
            return FileResponder.answer(with: entry, to: request)
        } catch RootError.wouldBlock {
            return .later { request in
                FileResponder.respond(with: try request.share.open(request.path), to: request)
            }
        } catch {
            return .pass
        }
    }
}
