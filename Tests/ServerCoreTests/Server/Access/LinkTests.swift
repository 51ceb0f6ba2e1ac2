import DirectoryRoot
import TestSupport
import Testing

@testable import ServerCore

@Suite("Share links")
struct LinkTests {
    let directory: TemporaryDirectory
    let root: DirectoryRoot

    init() throws {
        directory = try TemporaryDirectory()
        root = try DirectoryRoot(path: directory.path)
        try directory.write("content", to: "a/b/c.txt")
        try directory.write("other", to: "a/secret.txt")
    }

    private func path(_ text: String) -> SharePath { SharePath(unchecked: Array(text.utf8)) }

    private func link(_ place: String, change: (inout ShareLink) -> Void = { _ in }) throws -> (
        id: String, token: String
    ) {
        let (secret, hash) = LinkToken.makeSecret()
        var link = ShareLink(secretHash: hash, path: path(place))
        change(&link)
        let made = try root.links.create(link)
        return (made.id, LinkToken.text(id: made.id, secret: secret))
    }

    private func ask(
        _ gate: Gate, _ target: String, method: Method = .get, _ lines: [(String, String)] = []
    ) throws -> Admission {
        try gate.answer(method, target, lines)
    }

    private func gate(_ rules: String...) throws -> Gate {
        var access = AccessRules()
        for rule in rules { try access.add(rule: rule) }
        return Gate(access, root: root)
    }

    @Test("A link shows its own folder under its own prefix, and nothing beside it")
    func folder() throws {
        let gate = try gate("anna:x@/:rw")
        let (_, token) = try link("a/b")
        guard case .allow(let share, let prefix, let inside) = try ask(gate, "/.shareserve/s/\(token)/c.txt") else {
            Issue.record("refused")
            return
        }
        #expect(prefix == "/.shareserve/s/\(token)")
        #expect(inside == path("c.txt"))
        #expect(try share.attributes(of: inside).size == 7)
        #expect(throws: RootError.self) { try share.attributes(of: path("secret.txt")) }
        #expect(throws: RootError.self) { _ = try share.beginUpload(to: path("new"), replacing: .anything) }
        #expect(share.user == nil)
        #expect(try status(ask(gate, "/.shareserve/s/\(token)/../secret.txt")) == 400)
        #expect(try status(ask(gate, "/.shareserve/s/\(token)/.shareserve/links")) == 404)
        #expect(try status(ask(gate, "/.shareserve/s/\(token)/.shareserve/info")) == 200)
        #expect(try status(ask(gate, "/a/b/c.txt")) == 401)
    }

    @Test("A link to a file is that file, with or without its name behind it")
    func file() throws {
        let gate = try gate()
        let (_, token) = try link("a/b/c.txt")
        for end in ["", "/", "/c.txt"] {
            guard case .allow(let share, _, let inside) = try ask(gate, "/.shareserve/s/\(token)\(end)") else {
                Issue.record("refused")
                return
            }
            #expect(inside.isRoot)
            #expect(try share.attributes(of: .root).size == 7)
        }
    }

    @Test(
        "A wrong token opens nothing",
        arguments: ["", "x", "-", "a-b", "a-b-c", "..", "%2e%2e", "a b", String(repeating: "a", count: 5_000)])
    func wrong(token: String) throws {
        let gate = try gate("anna:x@/:rw")
        #expect([400, 404].contains(try status(ask(gate, "/.shareserve/s/\(token.replacing(" ", with: "%20"))/a"))))
        let (id, right) = try link("a/b")
        #expect(try status(ask(gate, "/.shareserve/s/\(id)-0000/c.txt")) == 404)
        try root.links.revoke(id: id)
        #expect(try status(ask(gate, "/.shareserve/s/\(right)/c.txt")) == 404)
    }

    @Test("A link that has ended opens nothing")
    func ended() throws {
        let (_, token) = try link("a/b") { $0.expires = Timestamp(seconds: 1) }
        #expect(try status(ask(gate(), "/.shareserve/s/\(token)/c.txt")) == 404)
    }

    @Test("Downloads are counted, and what goes on with one is not")
    func counted() throws {
        let gate = try gate()
        let (_, token) = try link("a/b") { $0.downloadsLeft = 2 }
        let target = "/.shareserve/s/\(token)/c.txt"
        #expect(try status(ask(gate, target, method: .head)) == 200)
        #expect(try status(ask(gate, "/.shareserve/s/\(token)/")) == 200)
        #expect(try status(ask(gate, target)) == 200)
        #expect(try status(ask(gate, target, [("Range", "bytes=3-")])) == 200)
        #expect(try status(ask(gate, target, [("Range", "bytes=0-3")])) == 200)
        #expect(try status(ask(gate, target)) == 410)
        #expect(try status(ask(gate, "/.shareserve/s/\(token)/?archive=zip")) == 410)
    }

    @Test(
        "Nothing but a true continuation of a counted download is free",
        arguments: [
            "bytes=1-", "bytes=-99999", "bytes=00-", "BYTES=0-", "bytes=5-2", "nonsense", "bytes=", "bytes=0-0,1-",
            "bytes= 1-",
        ])
    func continuations(range: String) throws {
        let gate = try gate()
        let (_, token) = try link("a/b") { $0.downloadsLeft = 1 }
        let target = "/.shareserve/s/\(token)/c.txt"
        #expect(try status(ask(gate, target, [("Range", range)])) == 200)
        #expect(try status(ask(gate, target)) == 410)
        #expect(try status(ask(gate, target, [("Range", "bytes=1-")])) == 200, "the same one goes on")
        #expect(try status(ask(gate, "/.shareserve/s/\(token)/d.txt", [("Range", "bytes=1-")])) != 200, "another file")
    }

    @Test("An archive counts, wherever its word stands in the query")
    func archives() throws {
        let gate = try gate()
        let (_, token) = try link("a/b") { $0.downloadsLeft = 1 }
        let target = "/.shareserve/s/\(token)/?" + String(repeating: "x&", count: 40) + "archive=zip"
        #expect(try status(ask(gate, target)) == 200)
        #expect(try status(ask(gate, target)) == 410)
    }

    @Test("A link's password is asked for, and guessing it slowed down")
    func password() throws {
        let gate = try gate()
        let hash = try PasswordHash.sha512.make(password: "secret", user: "")
        let (_, token) = try link("a/b") { $0.passwordHash = hash }
        let target = "/.shareserve/s/\(token)/c.txt"
        func basic(_ text: String) -> [(String, String)] { [("Authorization", "Basic " + Base64.encode(text.utf8))] }
        #expect(try status(ask(gate, target)) == 401)
        #expect(try status(ask(gate, target, basic("anyone:secret"))) == 200)
        #expect(try status(ask(gate, target, basic(":secret"))) == 200)
        for _ in 0..<10 { _ = try ask(gate, target, basic("x:wrong")) }
        #expect(try status(ask(gate, target, basic("x:wrong"))) == 429)
    }

    @Test("A link opens no more than its maker may do")
    func maker() throws {
        let (_, token) = try link("a/b") {
            $0.creator = "anna"
            $0.rights = [.read, .create]
        }
        let target = "/.shareserve/s/\(token)/c.txt"
        guard case .allow(let share, _, _) = try ask(gate("anna:x@/:ro"), target) else {
            Issue.record("refused")
            return
        }
        #expect(share.rights.rights(at: path("a/b")) == .readOnly)
        #expect(try status(ask(gate("bob:x@/:rw"), target)) == 404)
        guard case .allow(let inner, _, _) = try ask(gate("anna:x@/:rw,/a/b/deep:none"), target) else {
            Issue.record("refused")
            return
        }
        #expect(inner.rights.rights(at: path("a/b/c.txt")) == [.read, .create])
        #expect(inner.rights.rights(at: path("a/b/deep/x")) == .none)
        #expect(try status(ask(gate(), target)) == 200)
    }

    @Test("A link that a visitor made opens what visitors may read now")
    func visitor() throws {
        let (_, token) = try link("a/b") { $0.creator = "" }
        let target = "/.shareserve/s/\(token)/c.txt"
        func rights(_ gate: Gate) throws -> Rights {
            guard case .allow(let share, _, _) = try ask(gate, target) else { return .none }
            return share.rights.rights(at: path("a/b/c.txt"))
        }
        #expect(try rights(gate()) == .readOnly)
        #expect(try rights(gate("@/a:ro")) == .readOnly)
        #expect(try rights(gate("anna:x@/:rw", "@/a:ro")) == .readOnly)
        #expect(try rights(gate("anna:x@/:rw", "@/a:none")) == .none)
        #expect(try rights(gate("@/other:rw")) == .none)
        #expect(try rights(gate("anna:x@/:rw")) == .none)
        let (_, own) = try link("a/b")
        #expect(try status(ask(gate("anna:x@/:rw"), "/.shareserve/s/\(own)/c.txt")) == 200)
    }
}
