import DirectoryRoot
import TestSupport
import Testing

@testable import WebDAV

@Suite("Locks, RFC 4918 §6, §7, §9.10, §9.11, §10.4")
struct LockTests {
    private func fixture() throws -> DAVFixture {
        let fixture = try DAVFixture()
        try fixture.directory.write("a", to: "a")
        try fixture.directory.write("x", to: "d/x")
        try fixture.directory.write("y", to: "d/e/y")
        return fixture
    }

    @Test("§9.10.1 LOCK answers with the token and the lock")
    func lock() async throws {
        let fixture = try fixture()
        let owner = "<D:owner>me <D:href>mailto:x@y</D:href><z:q xmlns:z='urn:z'/></D:owner>"
        let reply = try await fixture.send(
            "LOCK", "/a", [("Depth", "0"), ("Timeout", "Second-600")], lockInfo(owner: owner))
        #expect(reply.status == 200)
        let token = try #require(reply["Lock-Token"])
        #expect(token.hasPrefix("<") && token.hasSuffix(">"))
        let lock = try #require(try reply.xml().child("lockdiscovery")?.child("activelock"))
        #expect(lock.child("locktoken")?.child("href")?.text == String(token.dropFirst().dropLast()))
        #expect(lock.child("lockroot")?.child("href")?.text == "/a")
        #expect(lock.child("depth")?.text == "0")
        #expect(lock.child("lockscope")?.child("exclusive") != nil)
        #expect(lock.child("locktype")?.child("write") != nil)
        #expect(lock.child("timeout")?.text.hasPrefix("Second-") == true)
        let kept = try #require(lock.child("owner"))
        #expect(kept.text == "me ")
        #expect(kept.elements.map(\.name.local) == ["href", "q"])
        let found = try await fixture.send("PROPFIND", "/a", [("Depth", "0")])
        #expect(try found.property("lockdiscovery")?.element.child("activelock") != nil)
        let listed = try await fixture.send("PROPFIND", "/", [("Depth", "1")])
        #expect(try listed.property("lockdiscovery", of: "/a")?.element.child("activelock") != nil)
        #expect(try listed.property("lockdiscovery", of: "/d/")?.element.child("activelock") == nil)
    }

    @Test("§9.10.4 an unmapped name becomes an empty file, 201; without a parent 409")
    func unmapped() async throws {
        let fixture = try fixture()
        let reply = try await fixture.send("LOCK", "/new", [("Depth", "0")], lockInfo())
        #expect(reply.status == 201)
        #expect(reply["Lock-Token"] != nil)
        #expect(fixture.directory.text("new") == "")
        #expect(try await fixture.send("PUT", "/new", [], "x").status == 423)
        #expect(try await fixture.send("LOCK", "/no/new", [], lockInfo()).status == 409)
    }

    @Test("§9.10.3 Depth 1 and other bodies are refused with 400")
    func refusals() async throws {
        let fixture = try fixture()
        #expect(try await fixture.send("LOCK", "/a", [("Depth", "1")], lockInfo()).status == 400)
        for body in [
            "<x/>", "<D:lockinfo xmlns:D='DAV:'/>", lockInfo(scope: "both"),
            "<D:lockinfo xmlns:D='DAV:'><D:lockscope><D:exclusive/></D:lockscope></D:lockinfo>",
            "<D:lockinfo xmlns:D='DAV:'><D:lockscope><D:exclusive/><D:shared/></D:lockscope><D:locktype><D:write/></D:locktype></D:lockinfo>",
        ] {
            #expect(try await fixture.send("LOCK", "/a", [], body).status == 400)
        }
        #expect(try await fixture.send("LOCK", "/a").status == 400, "a refresh names its lock")
        let owner = "<D:owner>\(String(repeating: "o", count: 10_000))</D:owner>"
        #expect(try await fixture.send("LOCK", "/a", [], lockInfo(owner: owner)).status == 413)
    }

    @Test("An owner as deep as it may be is shown at a depth that clients read")
    func deepOwner() async throws {
        let fixture = try DAVFixture()
        func owner(_ depth: Int) -> String {
            let inner = String(repeating: "<a>", count: depth) + String(repeating: "</a>", count: depth)
            return "<D:owner>\(inner)</D:owner>"
        }
        #expect(try await fixture.send("LOCK", "/a", [], lockInfo(owner: owner(250))).status == 400)
        #expect(try await fixture.send("LOCK", "/a", [], lockInfo(owner: owner(249))).status == 201)
        let listing = try await fixture.send("PROPFIND", "/", [("Depth", "1")])
        #expect(try listing.hrefs().contains("/a"))
    }

    @Test("§6.1, §9.10.5 an exclusive lock excludes, shared ones share")
    func conflicts() async throws {
        let fixture = try fixture()
        _ = try await fixture.lock("/a")
        for scope in ["exclusive", "shared"] {
            let reply = try await fixture.send("LOCK", "/a", [], lockInfo(scope: scope))
            #expect(reply.status == 423)
            #expect(reply.names("no-conflicting-lock"))
            #expect(try reply.xml().child("no-conflicting-lock")?.child("href")?.text == "/a")
        }
        _ = try await fixture.lock("/d/x", scope: "shared")
        _ = try await fixture.lock("/d/x", scope: "shared")
        #expect(try await fixture.send("LOCK", "/d/x", [], lockInfo()).status == 423)
        let both = try await fixture.send("PROPFIND", "/d/x", [("Depth", "0")])
        #expect(try both.property("lockdiscovery")?.element.elements.count == 2)
    }

    @Test("§9.10.9 a recursive lock over a locked member answers 207 that names it")
    func memberConflict() async throws {
        let fixture = try fixture()
        _ = try await fixture.lock("/d/e/y")
        let reply = try await fixture.send("LOCK", "/d", [("Depth", "infinity")], lockInfo())
        #expect(reply.status == 207)
        #expect(try reply.status(of: "/d/e/y")?.contains("423") == true)
        #expect(try reply.status(of: "/d/")?.contains("424") == true)
        #expect(try await fixture.send("LOCK", "/d", [("Depth", "0")], lockInfo()).status == 200)
    }

    @Test("§9.10.2 a refresh names its lock in If, has no Lock-Token, and restarts the time")
    func refresh() async throws {
        let fixture = try fixture()
        let token = try await fixture.lock("/a")
        let reply = try await fixture.send("LOCK", "/a", [("If", "(\(token))"), ("Timeout", "Second-77")])
        #expect(reply.status == 200)
        #expect(reply["Lock-Token"] == nil)
        let time = try reply.xml().child("lockdiscovery")?.child("activelock")?.child("timeout")?.text
        #expect(time == "Second-77" || time == "Second-76")
        #expect(try await fixture.send("LOCK", "/a", [("If", "(<urn:uuid:other>)")]).status == 412)
        #expect(try await fixture.send("LOCK", "/d", [("If", "(\(token))")]).status == 412)
    }

    @Test("§9.11 UNLOCK: 204, 400 without a token, 409 for another resource, with or without brackets")
    func unlock() async throws {
        let fixture = try fixture()
        let token = try await fixture.lock("/a")
        #expect(try await fixture.send("UNLOCK", "/a").status == 400)
        let other = try await fixture.send("UNLOCK", "/d", [("Lock-Token", token)])
        #expect(other.status == 409)
        #expect(other.names("lock-token-matches-request-uri"))
        #expect(try await fixture.send("UNLOCK", "/a", [("Lock-Token", "<urn:uuid:none>")]).status == 409)
        #expect(try await fixture.send("UNLOCK", "/a", [("Lock-Token", token)]).status == 204)
        #expect(try await fixture.send("UNLOCK", "/a", [("Lock-Token", token)]).status == 409)
        let next = try await fixture.lock("/a")
        let bare = String(next.dropFirst().dropLast())
        #expect(try await fixture.send("UNLOCK", "/a", [("Lock-Token", bare)]).status == 204)
        #expect(try await fixture.send("PUT", "/a", [], "x").status == 204)
    }

    @Test(
        "§7 every change of a locked file needs the token",
        arguments: [
            ("PUT", [], "x"), ("DELETE", [], ""), ("MOVE", [("Destination", "/z")], ""),
            ("PROPPATCH", [], proppatch("<D:set><D:prop><x:p/></D:prop></D:set>")),
            ("PATCH", [("X-Update-Range", "append")], "x"),
        ] as [(String, [(String, String)], String)])
    func needsToken(method: String, fields: [(String, String)], body: String) async throws {
        let fixture = try fixture()
        let token = try await fixture.lock("/a")
        let refused = try await fixture.send(method, "/a", fields, body)
        #expect(refused.status == 423)
        #expect(refused.names("lock-token-submitted"))
        #expect(try refused.xml().child("lock-token-submitted")?.child("href")?.text == "/a")
        let done = try await fixture.send(method, "/a", fields + [("If", "(\(token))")], body)
        #expect((200..<300).contains(done.status))
    }

    @Test("§7 reading needs no token, and COPY from a locked file none either")
    func reading() async throws {
        let fixture = try fixture()
        _ = try await fixture.lock("/a")
        #expect(try await fixture.send("PROPFIND", "/a", [("Depth", "0")]).status == 207)
        #expect(try await fixture.send("COPY", "/a", [("Destination", "/copy")]).status == 201)
        // §7.6: the copy is not locked.
        #expect(try await fixture.send("PUT", "/copy", [], "x").status == 204)
    }

    @Test("§7 a destination that is locked needs its token, for COPY and MOVE")
    func lockedDestination() async throws {
        let fixture = try fixture()
        let token = try await fixture.lock("/a")
        for method in ["COPY", "MOVE"] {
            #expect(try await fixture.send(method, "/d/x", [("Destination", "/a")]).status == 423)
        }
        let tagged = "<http://localhost/a> (\(token))"
        #expect(try await fixture.send("COPY", "/d/x", [("Destination", "/a"), ("If", tagged)]).status == 204)
        #expect(fixture.directory.text("a") == "x")
    }

    @Test("§7.4 a depth 0 lock on a folder protects its membership, not its members")
    func membership() async throws {
        let fixture = try fixture()
        let token = try await fixture.lock("/d", depth: "0")
        #expect(try await fixture.send("PUT", "/d/new", [], "x").status == 423)
        #expect(try await fixture.send("MKCOL", "/d/new").status == 423)
        #expect(try await fixture.send("DELETE", "/d/x").status == 423)
        #expect(try await fixture.send("MOVE", "/d/x", [("Destination", "/z")]).status == 423)
        #expect(try await fixture.send("COPY", "/a", [("Destination", "/d/new")]).status == 423)
        #expect(try await fixture.send("PUT", "/d/x", [], "changed").status == 204)
        let tagged = [("If", "</d> (\(token))")]
        #expect(try await fixture.send("PUT", "/d/new", tagged, "x").status == 201)
    }

    @Test("§7.4 a recursive lock protects all below, new members too")
    func recursive() async throws {
        let fixture = try fixture()
        let token = try await fixture.lock("/d")
        #expect(try await fixture.send("PUT", "/d/e/y", [], "x").status == 423)
        #expect(try await fixture.send("PUT", "/d/e/new", [], "x").status == 423)
        #expect(try await fixture.send("PUT", "/d/e/new", [("If", "(\(token))")], "x").status == 201)
        #expect(try await fixture.send("PUT", "/d/e/new", [], "x").status == 423)
        let found = try await fixture.send("PROPFIND", "/d/e/new", [("Depth", "0")])
        let root = try found.property("lockdiscovery")?.element.child("activelock")?.child("lockroot")
        #expect(root?.child("href")?.text.hasPrefix("/d") == true)
        #expect(root?.child("href")?.text == "/d/")
        #expect(try await fixture.send("UNLOCK", "/d/e/new", [("Lock-Token", token)]).status == 204)
        #expect(try await fixture.send("PUT", "/d/e/y", [], "x").status == 204)
    }

    @Test("§9.6.1, §7.5 DELETE of a tree with a locked member fails and names it; §9.6 locks go with what is deleted")
    func deleteTree() async throws {
        let fixture = try fixture()
        let token = try await fixture.lock("/d/e/y")
        let refused = try await fixture.send("DELETE", "/d")
        #expect(refused.status == 207 || refused.status == 423)
        #expect(refused.text.contains("/d/e/y"))
        #expect(fixture.directory.exists("d/e/y"))
        #expect(try await fixture.send("DELETE", "/d", [("If", "</d/e/y> (\(token))")]).status == 204)
        _ = try await fixture.send("MKCOL", "/d")
        _ = try await fixture.send("MKCOL", "/d/e")
        #expect(try await fixture.send("PUT", "/d/e/y", [], "free").status == 201)
    }

    @Test("§7.5, §9.9 MOVE drops the locks of its source")
    func moveDropsLocks() async throws {
        let fixture = try fixture()
        let token = try await fixture.lock("/a")
        #expect(try await fixture.send("MOVE", "/a", [("Destination", "/b"), ("If", "(\(token))")]).status == 201)
        #expect(try await fixture.send("PUT", "/b", [], "x").status == 204)
        #expect(try await fixture.send("PUT", "/a", [], "x").status == 201)
    }

    @Test("§10.4 If: false is 412, malformed 400, for every method")
    func ifHeader() async throws {
        let fixture = try fixture()
        let tag = try #require(try await fixture.send("PUT", "/a", [], "1")["ETag"])
        let rows: [(String, Int)] = [
            ("([\(tag)])", 204), ("([\"other\"])", 412), ("(Not [\"other\"])", 204), ("(<DAV:no-lock>)", 412),
            ("(Not <DAV:no-lock>)", 204), ("([\"other\"]) (Not <DAV:no-lock>)", 204), ("(<urn:x:y>)", 412),
            ("<http://localhost/d/x> (Not [\"q\"])", 204), ("<http://elsewhere/d/x> ([\"q\"])", 412), ("(<a:b>", 400),
            ("([\(tag)] <DAV:no-lock>)", 412), ("<http://localhost/none> (Not <urn:x:y>)", 204), ("nonsense", 400),
        ]
        for (header, status) in rows {
            _ = try await fixture.send("PROPFIND", "/a", [("Depth", "0")])
            let reply = try await fixture.send(
                "PROPPATCH", "/a", [("If", header)], proppatch("<D:set><D:prop><x:p/></D:prop></D:set>"))
            #expect(reply.status == (status == 204 ? 207 : status), "\(header)")
        }
        for method in ["PUT", "DELETE", "PROPFIND", "MKCOL", "LOCK", "COPY", "MOVE"] {
            let body = method == "LOCK" ? lockInfo() : ""
            let reply = try await fixture.send(
                method, "/a",
                [("If", "(<DAV:no-lock>)"), ("Destination", "/z"), ("Depth", method == "MOVE" ? "infinity" : "0")],
                body)
            #expect(reply.status == 412, "\(method)")
        }
    }

    @Test("§10.4 a token that covers the target satisfies If; one of another resource does not")
    func tokens() async throws {
        let fixture = try fixture()
        let first = try await fixture.lock("/a")
        let second = try await fixture.lock("/d/x")
        #expect(try await fixture.send("PUT", "/a", [("If", "(\(second))")], "x").status == 412)
        #expect(try await fixture.send("PUT", "/a", [("If", "(\(first) \(second))")], "x").status == 412)
        #expect(try await fixture.send("PUT", "/a", [("If", "(\(second)) (\(first))")], "x").status == 204)
        let moved = [("If", "</a> (\(first)) </d/x> (\(second))"), ("Destination", "/d/x")]
        #expect(try await fixture.send("MOVE", "/a", moved).status == 204)
    }

    @Test("§6.4 a lock taken by a user serves that user alone")
    func users() async throws {
        let anna = try DAVFixture(user: "anna")
        try anna.directory.write("a", to: "a")
        let token = try await anna.lock("/a")
        var other = Share(root: anna.share.root, user: "ben")
        other.tokens = []
        let fixture = DAVFixture(sharing: anna, as: other)
        #expect(try await fixture.send("UNLOCK", "/a", [("Lock-Token", token)]).status == 403)
        #expect(try await fixture.send("PUT", "/a", [("If", "(\(token))")], "x").status == 423)
        #expect(try await anna.send("PUT", "/a", [("If", "(\(token))")], "x").status == 204)
    }
}
