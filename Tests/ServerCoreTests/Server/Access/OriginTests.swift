import DirectoryRoot
import TestSupport
import Testing

@testable import ServerCore

@Suite("Host names and other sites")
struct OriginTests {
    private let names = HostNames(
        allowed: ["files.example.com", ".example.net", "shareserve"], bound: ["::", "Nas.Home.Example"],
        certified: ["tls.example.com", "*.wild.example"], machine: "nas.example.org")

    @Test(
        "Addresses, localhost and the server's own names are known",
        arguments: [
            "127.0.0.1:8080", "[::1]:8080", "192.168.1.2", "localhost", "LOCALHOST:80", "localhost.", "a.localhost",
            "nas", "nas.local:8080", "NAS.local", "nas.lan", "nas.home.arpa", "nas.example.org", "",
            "files.example.com",
            "a.b.example.net", "example.net", "shareserve:8080", "nas.home.example:8080", "tls.example.com",
            "A.wild.example",
        ])
    func known(authority: String) {
        #expect(names.knows(authority: authority))
    }

    @Test(
        "Other names are not",
        arguments: [
            "evil.example", "evil.example:8080", "localhost.evil.example", "127.0.0.1.evil.example", "example.com",
            "xfiles.example.com", "notexample.net", "other.example.org", ".local", "nas.evil.lan", "[::1.evil",
            // On a network of strangers, the first to answer can claim these names.
            "evil", "evil:8080", "evil.", "router.local", "other.lan", "nasty", "na", "local", "example", "nas.nas",
            "wild.example", "a.b.wild.example", ".wild.example", "x.tls.example.com", "127.0.0.256", "1.2.3",
            "x.nas.local", "xlocalhost", ".", "-", "*",
        ])
    func unknown(authority: String) {
        #expect(!names.knows(authority: authority))
        #expect(HostNames(allowed: ["*"], machine: "").knows(authority: authority))
    }

    @Test("The names of another certificate take the place of the old one's")
    func certificateChanges() throws {
        let directory = try TemporaryDirectory()
        let gate = Gate(AccessRules(), root: try DirectoryRoot(path: directory.path))
        func isLetIn(_ authority: String) throws -> Bool {
            let head = RequestHead()
            head.compose(method: "GET", target: "/", lines: [("Host", authority)])
            let view = RequestHeadView(
                head: head, method: .get, target: try RequestTarget(head.target), authority: authority,
                scheme: "https", peer: "127.0.0.1")
            if case .allow = gate.admit(view) { return true }
            return false
        }
        #expect(try !isLetIn("old.example"))
        gate.learn(ownNames: ["old.example"])
        #expect(try isLetIn("old.example"))
        gate.learn(ownNames: ["new.example"])
        #expect(try !isLetIn("old.example"))
        #expect(try isLetIn("new.example"))
        gate.replace(AccessRules())
        #expect(try isLetIn("new.example"))
    }

    private func fields(_ lines: [(String, String)]) -> RequestFields {
        let head = RequestHead()
        head.compose(method: "POST", target: "/", lines: lines)
        return RequestFields(head: head)
    }

    static let own: [[(String, String)]] = [
        [], [("Origin", "http://nas:8080")], [("Origin", "https://NAS:8080")], [("Sec-Fetch-Site", "same-origin")],
        [("Sec-Fetch-Site", "none")], [("Sec-Fetch-Site", "same-origin"), ("Origin", "null")],
        [("Referer", "http://nas:8080/a/")],
        [("Origin", "app://obsidian.md")], [("Origin", "https://app.example"), ("Sec-Fetch-Site", "cross-site")],
        [("Referer", "garbage")],
    ]

    @Test("Our own pages, allowed ones and clients without pages may change things", arguments: own)
    func admitted(lines: [(String, String)]) {
        let origins = Origins(allowed: ["app://obsidian.md", "https://app.example/"])
        #expect(origins.admits(fields(lines), authority: "nas:8080"))
    }

    static let foreign: [[(String, String)]] = [
        [("Origin", "http://evil.example")], [("Origin", "null")], [("Origin", "http://nas:9090")],
        [("Origin", "http://nas")],
        [("Origin", "http://nas:8080.evil.example")], [("Sec-Fetch-Site", "cross-site")],
        [("Sec-Fetch-Site", "same-site")],
        [("Sec-Fetch-Site", "")], [("Referer", "http://evil.example/nas:8080")],
        [("Referer", "http://nas:8080@evil.example/")],
        [("Origin", "")], [("Origin", "https://app.example.evil")],
        [("Origin", "http://nas:8080"), ("Sec-Fetch-Site", "cross-site")],
    ]

    @Test("Pages of other sites may not", arguments: foreign)
    func refused(lines: [(String, String)]) {
        let origins = Origins(allowed: ["https://app.example"])
        #expect(!origins.admits(fields(lines), authority: "nas:8080"))
    }

    @Test("A preflight is answered without credentials, for allowed sites only")
    func preflight() {
        let origins = Origins(allowed: ["app://obsidian.md"])
        let asked = [
            ("Origin", "app://obsidian.md"), ("Access-Control-Request-Method", "PROPFIND"),
            ("Access-Control-Request-Headers", "authorization, depth, bad header, x\"y"),
        ]
        let response = origins.preflight(fields(asked), methods: "GET, PROPFIND")
        #expect(response.status == .noContent)
        #expect(response.fields["Access-Control-Allow-Origin"] == "app://obsidian.md")
        #expect(response.fields["Access-Control-Allow-Headers"] == "authorization, depth")
        #expect(response.fields["Access-Control-Allow-Methods"] == "GET, PROPFIND")
        #expect(response.fields["Access-Control-Allow-Credentials"] == "true")
        let refused = origins.preflight(fields([("Origin", "http://evil.example")]), methods: "GET")
        #expect(refused.status == .forbidden)
        #expect(!refused.fields.contains("Access-Control-Allow-Origin"))
    }

    @Test("An allowed site may be written with the port that its scheme has by itself")
    func usualPorts() {
        let origins = Origins(allowed: ["https://a.example:443/", "http://b.example:80", "https://c.example:80"])
        for site in ["https://a.example", "http://b.example", "https://c.example:80"] { #expect(origins.allows(site)) }
        for site in ["http://a.example", "https://c.example"] { #expect(!origins.allows(site)) }
    }

    @Test("Answers name the allowed site, never one that merely asked")
    func dressed() {
        var response = Response(.ok)
        Origins(allowed: ["https://app.example"]).addFields(to: &response, for: "https://evil.example")
        #expect(!response.fields.contains("Access-Control-Allow-Origin"))
        #expect(response.fields["Vary"] == "Origin")
        Origins(allowed: ["https://app.example"]).addFields(to: &response, for: "https://app.example")
        #expect(response.fields["Access-Control-Allow-Origin"] == "https://app.example")
        #expect(response.fields["Access-Control-Expose-Headers"]?.contains("ETag") == true)
        var open = Response(.ok)
        Origins(allowed: ["*"]).addFields(to: &open, for: "https://any.example")
        #expect(open.fields["Access-Control-Allow-Origin"] == "*")
        #expect(!open.fields.contains("Access-Control-Allow-Credentials"))
    }

    @Test("Every answer tells browsers to be careful, and keeps what it says itself")
    func security() {
        var fields: ResponseFields = [:]
        SecurityFields.add(to: &fields)
        #expect(fields["X-Content-Type-Options"] == "nosniff")
        #expect(fields["Referrer-Policy"] == "same-origin")
        #expect(fields["Content-Security-Policy"]?.contains("frame-ancestors 'none'") == true)
        var own: ResponseFields = ["Content-Security-Policy": "default-src 'self'"]
        SecurityFields.add(to: &own)
        #expect(own["Content-Security-Policy"] == "default-src 'self'")
        #expect(!own.contains("X-Frame-Options"))
    }

    @Test("A foreign Host is refused with the option's name, unless access control is on")
    func rebinding() throws {
        let directory = try TemporaryDirectory()
        let root = try DirectoryRoot(path: directory.path)
        let head = RequestHead()
        head.compose(method: "GET", target: "/", lines: [("Host", "evil.example")])
        let view = RequestHeadView(
            head: head, method: .get, target: try RequestTarget(head.target), authority: "evil.example", scheme: "http",
            peer: "127.0.0.1")
        guard case .refuse(let response) = Gate(AccessRules(), root: root).admit(view),
            case .bytes(let text) = response.body
        else {
            Issue.record("let in")
            return
        }
        #expect(response.status == .misdirectedRequest)
        #expect(String(decoding: text, as: UTF8.self).contains("--allowed-host evil.example"))
        var rules = AccessRules()
        try rules.add(rule: "@/:ro")
        try rules.add(rule: "anna:x@/:rw")
        guard case .allow = Gate(rules, root: root).admit(view) else {
            Issue.record("with accounts, rebinding gains nothing")
            return
        }
    }
}
