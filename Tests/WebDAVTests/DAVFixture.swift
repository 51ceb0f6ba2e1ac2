import DirectoryRoot
import ServerCore
import TestSupport
import Testing

@testable import WebDAV

/// A share in a fresh directory, and the handler over it, without a socket.
struct DAVFixture {
    let directory: TemporaryDirectory
    let share: Share
    let handler: WebDAVHandler
    var prefix = ""

    init(options: WebDAVOptions = WebDAVOptions(), policy: RootPolicy = RootPolicy(), user: String? = nil) throws {
        directory = try TemporaryDirectory()
        share = Share(root: try DirectoryRoot(path: directory.path, policy: policy), user: user)
        handler = WebDAVHandler(options: options)
    }

    /// The same directory, seen by another requester.
    init(sharing other: DAVFixture, as share: Share) {
        directory = other.directory
        handler = other.handler
        self.share = share
    }

    /// A file with almost as many properties as one may have, 900 KiB, and copies of it.
    static func withLargeProperties(copies: Int) async throws -> DAVFixture {
        let fixture = try DAVFixture()
        try fixture.directory.write("", to: "0")
        let value = String(repeating: "v", count: 61_440)
        let properties = (0..<15).map { "<x:p\($0)>\(value)</x:p\($0)>" }.joined()
        let set = proppatch("<D:set><D:prop>\(properties)</D:prop></D:set>")
        #expect(try await fixture.send("PROPPATCH", "/0", [], set).status == 207)
        for copy in 1...copies {
            #expect(try await fixture.send("COPY", "/0", [("Destination", "/\(copy)")]).status == 201)
        }
        return fixture
    }

    /// The response to one request, as a client would see it.
    func send(
        _ method: String, _ path: String, _ fields: [(String, String)] = [], _ body: String = ""
    ) async throws -> Reply {
        try await send(method, path, fields, Array(body.utf8))
    }

    func send(_ method: String, _ path: String, _ fields: [(String, String)], _ body: [UInt8]) async throws -> Reply {
        let request = try Request.forTesting(
            method: Method(rawValue: method), path: path, fields: fields, body: body, share: share, prefix: prefix)
        switch handler.answer(request) {
        case .pass: return Reply(Response(Status(code: 0)))
        case .now(let response): return Reply(response)
        case .later(let run): return try await reply { try await run(request) }
        case .onDisk(let run): return try await reply { try run(request) }
        }
    }

    private func reply(_ run: () async throws -> Response) async throws -> Reply {
        do {
            return Reply(try await run())
        } catch let error as HTTPError {
            return Reply(Response(error))
        } catch let error as RootError {
            return Reply(Response(HTTPError(error)))
        }
    }

    /// Takes a lock and returns its token with its angle brackets.
    func lock(
        _ path: String, depth: String = "infinity", scope: String = "exclusive", owner: String = ""
    ) async throws -> String {
        let reply = try await send("LOCK", path, [("Depth", depth)], lockInfo(scope: scope, owner: owner))
        return try #require(reply["Lock-Token"], "LOCK \(path) gave \(reply.status)")
    }
}

func lockInfo(scope: String = "exclusive", owner: String = "") -> String {
    """
    <?xml version="1.0" encoding="utf-8"?><D:lockinfo xmlns:D='DAV:'><D:lockscope><D:\(scope)/></D:lockscope>\
    <D:locktype><D:write/></D:locktype>\(owner)</D:lockinfo>
    """
}

func propfind(_ names: String) -> String {
    "<D:propfind xmlns:D='DAV:' xmlns:x='urn:x' xmlns:oc='http://owncloud.org/ns'><D:prop>\(names)</D:prop></D:propfind>"
}

func proppatch(_ instructions: String) -> String {
    "<D:propertyupdate xmlns:D='DAV:' xmlns:x='urn:x' xmlns:Z='urn:schemas-microsoft-com:'>\(instructions)</D:propertyupdate>"
}

struct Reply {
    let status: Int
    let body: [UInt8]
    private let fields: ResponseFields

    init(_ response: Response) {
        status = response.status.code
        fields = response.fields
        if case .bytes(let bytes) = response.body { body = bytes } else { body = [] }
    }

    subscript(name: String) -> String? { fields[name] }

    var text: String { String(decoding: body, as: UTF8.self) }

    func xml() throws -> XMLElement { try XMLReader.read(body) }

    /// The addresses of a multistatus, in order.
    func hrefs() throws -> [String] {
        try xml().elements.filter { $0.isDAV("response") }.compactMap { $0.child("href")?.text }
    }

    /// The status of a whole resource in a multistatus.
    func status(of href: String) throws -> String? {
        try xml().elements.first { $0.child("href")?.text == href }?.child("status")?.text
    }

    /// A property's element in a multistatus, and the status of its propstat.
    func property(
        _ local: String, in namespace: String = "DAV:", of href: String? = nil
    ) throws -> (element: XMLElement, status: Int)? {
        for response in try xml().elements where response.isDAV("response") {
            if let href, response.child("href")?.text != href { continue }
            for propstat in response.elements where propstat.isDAV("propstat") {
                let found = propstat.child("prop")?.elements.first {
                    $0.name == PropertyName(namespace: namespace, local: local)
                }
                guard let found, let line = propstat.child("status")?.text else { continue }
                return (found, Int(line.split(separator: " ")[1]) ?? 0)
            }
        }
        return nil
    }

    /// The text of a property that exists.
    func value(_ local: String, in namespace: String = "DAV:", of href: String? = nil) throws -> String? {
        let found = try property(local, in: namespace, of: href)
        return found.flatMap { $0.status == 200 ? $0.element.text : nil }
    }

    /// Whether a body names a precondition of the RFC.
    func names(_ condition: String) -> Bool {
        (try? xml().child(condition)) != nil
    }
}
