import DirectoryRoot
import TestSupport
import Testing

@testable import WebDAV

@Suite("PUT, MKCOL, DELETE, COPY and MOVE")
struct WriteTests {
    @Test("RFC 9110 §9.3.4 PUT creates with 201 and replaces with 204, with validators")
    func put() async throws {
        let fixture = try DAVFixture()
        let first = try await fixture.send("PUT", "/a", [], "one")
        #expect(first.status == 201)
        #expect(first["ETag"]?.hasPrefix("\"") == true)
        #expect(first["Last-Modified"]?.hasSuffix("GMT") == true)
        let second = try await fixture.send("PUT", "/a", [], "two")
        #expect(second.status == 204)
        #expect(second["ETag"] != first["ETag"])
        #expect(fixture.directory.text("a") == "two")
    }

    @Test("§9.7.1 PUT below a missing collection answers 409, §9.7.2 onto a collection 405")
    func putRefusals() async throws {
        let fixture = try DAVFixture()
        try fixture.directory.makeDirectory("d")
        try fixture.directory.write("", to: "f")
        #expect(try await fixture.send("PUT", "/no/a", [], "x").status == 409)
        #expect(try await fixture.send("PUT", "/f/a", [], "x").status == 409)
        let onto = try await fixture.send("PUT", "/d", [], "x")
        #expect(onto.status == 405)
        #expect(onto["Allow"]?.contains("PROPFIND") == true)
        #expect(try await fixture.send("PUT", "/d/", [], "x").status == 405)
        #expect(try await fixture.send("PUT", "/new/", [], "x").status == 409)
        #expect(try await fixture.send("PUT", "/", [], "x").status == 405)
        #expect(try await fixture.send("PUT", "/a", [("Content-Range", "bytes 0-1/5")], "x").status == 400)
        #expect(!fixture.directory.exists("a"))
    }

    @Test("A share that is one file takes PUT at its own address, and nothing beside or instead of it")
    func singleFile() async throws {
        let fixture = try DAVFixture()
        try fixture.directory.write("old", to: "d/a")
        try fixture.directory.write("hidden", to: "d/b")
        let base = try SharePath(bytes: "d/a".utf8)
        let single = DAVFixture(sharing: fixture, as: Share(root: fixture.share.root, base: base))
        #expect(try await single.send("PUT", "/", [], "new").status == 204)
        #expect(fixture.directory.text("d/a") == "new")
        #expect(try await single.send("PROPFIND", "/", [("Depth", "1")]).hrefs() == ["/"])
        #expect(try await single.send("PUT", "/b", [], "x").status == 409)
        #expect(try await single.send("DELETE", "/").status == 403)
        #expect(try await single.send("MKCOL", "/").status == 405)
        #expect(fixture.directory.text("d/b") == "hidden")
        let reader = Share(root: fixture.share.root, base: base, rights: RightsMap(rules: [(.root, .readOnly)]))
        #expect(try await DAVFixture(sharing: fixture, as: reader).send("PUT", "/", [], "x").status == 403)
    }

    @Test("PUT honours If-Match, If-None-Match and If-Unmodified-Since")
    func putConditions() async throws {
        let fixture = try DAVFixture()
        #expect(try await fixture.send("PUT", "/a", [("If-Match", "*")], "x").status == 412)
        let created = try await fixture.send("PUT", "/a", [("If-None-Match", "*")], "1")
        #expect(created.status == 201)
        #expect(try await fixture.send("PUT", "/a", [("If-None-Match", "*")], "2").status == 412)
        let tag = try #require(created["ETag"])
        let updated = try await fixture.send("PUT", "/a", [("If-Match", tag)], "3")
        #expect(updated.status == 204)
        #expect(try await fixture.send("PUT", "/a", [("If-Match", tag)], "4").status == 412)
        let old = "Thu, 01 Jan 1970 00:00:00 GMT"
        #expect(try await fixture.send("PUT", "/a", [("If-Unmodified-Since", old)], "5").status == 412)
        #expect(fixture.directory.text("a") == "3")
        // Joplin's unquoted tag fails nothing.
        let joplin = [("If-None-Match", "JoplinIgnore-123")]
        #expect(try await fixture.send("PUT", "/a", joplin, "6").status == 204)
        #expect(try await fixture.send("PROPFIND", "/a", joplin + [("Depth", "0")]).status == 207)
        #expect(try await fixture.send("MKCOL", "/j", joplin).status == 201)
        #expect(try await fixture.send("MOVE", "/j", joplin + [("Destination", "/k")]).status == 201)
        #expect(try await fixture.send("DELETE", "/k", joplin).status == 204)
    }

    @Test("X-OC-Mtime is kept and acknowledged")
    func mtime() async throws {
        let fixture = try DAVFixture()
        let reply = try await fixture.send("PUT", "/a", [("X-OC-Mtime", "1641031202.5")], "x")
        #expect(reply["X-OC-MTime"] == "accepted")
        #expect(reply["Last-Modified"] == "Sat, 01 Jan 2022 10:00:02 GMT")
        #expect(reply["OC-ETag"] == reply["ETag"])
        #expect(try await fixture.send("PUT", "/b", [("X-OC-Mtime", "soon")], "x").status == 400)
        #expect(!fixture.directory.exists("b"))
    }

    @Test("An upload that does not match its digest or length leaves the old file")
    func digests() async throws {
        let fixture = try DAVFixture()
        try fixture.directory.write("old", to: "a")
        let wrong: [(String, String)] = [
            ("Repr-Digest", "sha-256=:LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=:"),
            ("Content-Digest", "md5=:XUFAKrxLKna5cZ2REBfFkg==:"),
            ("OC-Checksum", "SHA1:aaf4c61ddcc5e8a2dabede0f3b482cd9aea9434d"),
            ("X-Expected-Entity-Length", "10"),
        ]
        for field in wrong {
            #expect(try await fixture.send("PUT", "/a", [field], "hell").status == 400, "\(field)")
            #expect(fixture.directory.text("a") == "old")
        }
        for field in wrong.dropLast() {
            #expect(try await fixture.send("PUT", "/a", [field], "hello").status == 204, "\(field)")
        }
        let large = String(repeating: "x", count: 300_000)
        #expect(try await fixture.send("PUT", "/a", [wrong[0]], large).status == 400)
        #expect(fixture.directory.text("a") == "hello")
        #expect(try await fixture.send("PUT", "/a", [], large).status == 204)
        #expect(fixture.directory.text("a") == large)
        #expect(fixture.directory.names().filter { $0 != ".shareserve" } == ["a"])
    }

    @Test("PATCH appends, replaces a range, and refuses holes")
    func patch() async throws {
        let fixture = try DAVFixture()
        try fixture.directory.write("0123456789", to: "a")
        func patch(_ range: String, _ body: String) async throws -> Int {
            try await fixture.send("PATCH", "/a", [("X-Update-Range", range)], body).status
        }
        #expect(try await patch("append", "ab") == 204)
        #expect(fixture.directory.text("a") == "0123456789ab")
        #expect(try await patch("bytes=2-4", "xyz") == 204)
        #expect(fixture.directory.text("a") == "01xyz56789ab")
        #expect(try await patch("bytes=-2", "CD") == 204)
        #expect(try await patch("bytes=10-", "EFGH") == 204)
        #expect(fixture.directory.text("a") == "01xyz56789EFGH")
        #expect(try await patch("bytes=2-4", "toolong") == 400)
        #expect(try await patch("bytes=20-21", "xx") == 416)
        #expect(try await patch("lines=1", "x") == 400)
        #expect(fixture.directory.text("a") == "01xyz56789EFGH")
        #expect(try await fixture.send("PATCH", "/a", [("Content-Range", "bytes 0-1/*")], "AB").status == 204)
        #expect(fixture.directory.text("a") == "ABxyz56789EFGH")
        #expect(try await fixture.send("PATCH", "/none", [("X-Update-Range", "append")], "x").status == 404)
        try fixture.directory.makeDirectory("d")
        #expect(try await fixture.send("PATCH", "/d", [("X-Update-Range", "append")], "x").status == 405)
        #expect(try await fixture.send("PATCH", "/a", [], "x").status == 400, "it must say which bytes")
    }

    @Test("§9.3 MKCOL: 201, 405 for a taken name, 409 without a parent, 415 with a body")
    func mkcol() async throws {
        let fixture = try DAVFixture()
        #expect(try await fixture.send("MKCOL", "/d/").status == 201)
        let again = try await fixture.send("MKCOL", "/d")
        #expect(again.status == 405)
        #expect(again["Allow"] != nil)
        #expect(try await fixture.send("MKCOL", "/").status == 405)
        #expect(try await fixture.send("MKCOL", "/no/d").status == 409)
        #expect(try await fixture.send("MKCOL", "/e", [], "<x/>").status == 415)
        #expect(!fixture.directory.exists("e"))
        try fixture.directory.write("", to: "f")
        #expect(try await fixture.send("MKCOL", "/f").status == 405)
        #expect(try await fixture.send("MKCOL", "/f/g").status == 409)
    }

    @Test("§9.6 DELETE removes files and trees; Depth must be infinity for a collection")
    func delete() async throws {
        let fixture = try DAVFixture()
        try fixture.directory.write("", to: "d/e/f")
        try fixture.directory.write("", to: "a")
        #expect(try await fixture.send("DELETE", "/a").status == 204)
        #expect(try await fixture.send("DELETE", "/a").status == 404)
        #expect(try await fixture.send("DELETE", "/d", [("Depth", "0")]).status == 400)
        #expect(try await fixture.send("DELETE", "/d", [("Depth", "1")]).status == 400)
        #expect(fixture.directory.exists("d/e/f"))
        #expect(try await fixture.send("DELETE", "/d/", [("Depth", "infinity")]).status == 204)
        #expect(!fixture.directory.exists("d"))
        #expect(try await fixture.send("DELETE", "/").status == 403)
    }

    @Test("§9.8 COPY: 201 and 204, Overwrite, Depth, parents, itself")
    func copy() async throws {
        let fixture = try DAVFixture()
        try fixture.directory.write("a", to: "a")
        try fixture.directory.write("b", to: "b")
        try fixture.directory.write("x", to: "d/x")
        func copy(_ from: String, _ to: String, _ fields: [(String, String)] = []) async throws -> Int {
            try await fixture.send("COPY", from, [("Destination", to)] + fields).status
        }
        #expect(try await copy("/a", "/c") == 201)
        #expect(try await copy("/a", "/b", [("Overwrite", "F")]) == 412)
        #expect(fixture.directory.text("b") == "b")
        #expect(try await copy("/a", "/b", [("Overwrite", "T")]) == 204)
        #expect(fixture.directory.text("b") == "a")
        #expect(try await copy("/a", "/no/a") == 409)
        #expect(try await copy("/none", "/z") == 404)
        #expect(try await copy("/a", "/a") == 403)
        #expect(try await copy("/d", "/d/inside") == 403)
        #expect(try await copy("/d/", "/e/") == 201)
        #expect(fixture.directory.text("e/x") == "x")
        #expect(try await copy("/d/", "/shallow/", [("Depth", "0")]) == 201)
        #expect(fixture.directory.names(in: "shallow") == [])
        #expect(try await copy("/d/", "/w", [("Depth", "1")]) == 400)
        #expect(try await copy("/a", "/w", [("Overwrite", "X")]) == 400)
        // §9.8.4: no merge.
        try fixture.directory.write("old", to: "e/old")
        #expect(try await copy("/d", "/e") == 204)
        #expect(fixture.directory.names(in: "e") == ["x"])
        #expect(try await copy("/a", "/e") == 204)
        #expect(fixture.directory.text("e") == "a")
        #expect(try await copy("/d", "/") == 403)
    }

    @Test("§9.9 MOVE: 201 and 204, Overwrite, parents, itself")
    func move() async throws {
        let fixture = try DAVFixture()
        try fixture.directory.write("a", to: "a")
        try fixture.directory.write("b", to: "b")
        try fixture.directory.write("x", to: "d/x")
        func move(_ from: String, _ to: String, _ fields: [(String, String)] = []) async throws -> Int {
            try await fixture.send("MOVE", from, [("Destination", to)] + fields).status
        }
        #expect(try await move("/a", "/b", [("Overwrite", "F")]) == 412)
        #expect(try await move("/a", "/no/b") == 409)
        #expect(try await move("/a", "/a") == 403)
        #expect(try await move("/d", "/d/in") == 403)
        #expect(try await move("/", "/q") == 403)
        let shallow = try await fixture.send("MOVE", "/d", [("Destination", "/m"), ("Depth", "0")])
        #expect(shallow.status == 400)
        #expect(shallow.text.contains("Depth"))
        #expect(try await move("/a", "/b") == 204)
        #expect(!fixture.directory.exists("a"))
        #expect(try await move("/b", "/c") == 201)
        #expect(try await move("/d", "/m") == 201)
        #expect(fixture.directory.text("m/x") == "x")
        #expect(try await move("/c", "/m") == 204)
        #expect(fixture.directory.text("m") == "a")
    }

    @Test(
        "§10.3 Destination: other servers 502, what is no place here 400",
        arguments: [
            ("http://other.example/b", 502), ("http://localhost/b", 201), ("https://localhost/%62", 201), ("/b", 201),
            ("/a/../b", 400), ("b", 400), ("", 400), ("/b%2Fc", 400), ("/b%00", 400), ("/../b", 400),
            ("http://localhost", 403), ("ftp://localhost/b", 400), ("http://anna:s%40cret@localhost/b", 201),
            ("http://localhost@other.example/b", 502), ("http://localhost:80@other.example:80/b", 502),
            ("http://other.example@localhost@/b", 400), ("http://@/b", 400),
        ])
    func destination(value: String, status: Int) async throws {
        let fixture = try DAVFixture()
        try fixture.directory.write("a", to: "a")
        let reply = try await fixture.send("COPY", "/a", [("Destination", value)])
        #expect(reply.status == status)
        #expect(try await fixture.send("MOVE", "/a").status == 400)
    }

    @Test("OPTIONS says what is here, RFC 4918 §10.1")
    func options() async throws {
        let fixture = try DAVFixture()
        try fixture.directory.write("a", to: "a")
        let file = try await fixture.send("OPTIONS", "/a")
        #expect(file.status == 200)
        #expect(file["DAV"] == "1, 2, 3")
        #expect(file["MS-Author-Via"] == "DAV")
        #expect(file["Accept-Ranges"] == "bytes")
        #expect(file["Allow"]?.contains("LOCK") == true)
        #expect(file["Allow"]?.contains("MKCOL") == false)
        #expect(try await fixture.send("OPTIONS", "/new")["Allow"]?.contains("MKCOL") == true)
        #expect(try await fixture.send("OPTIONS", "/")["Allow"]?.contains("DELETE") == false)
        var policy = RootPolicy()
        policy.isReadOnly = true
        let readOnly = try await DAVFixture(policy: policy).send("OPTIONS", "/")
        #expect(readOnly["Allow"]?.contains("PUT") == false)
    }

    @Test("§8.4 a body that would be ignored is refused with 415")
    func uselessBody() async throws {
        let fixture = try DAVFixture()
        try fixture.directory.write("a", to: "a")
        for method in ["DELETE", "COPY", "MOVE"] {
            #expect(try await fixture.send(method, "/a", [("Destination", "/b")], "<x/>").status == 415)
        }
        let behaviour = "<propertybehavior xmlns='DAV:'><keepalive>*</keepalive></propertybehavior>"
        #expect(try await fixture.send("COPY", "/a", [("Destination", "/b")], behaviour).status == 201)
        // As early versions of sardine-android do.
        let lock = "<lockinfo xmlns='DAV:'><lockscope><exclusive/></lockscope><locktype><write/></locktype></lockinfo>"
        let token = try #require(try await fixture.send("LOCK", "/a", [], lock)["Lock-Token"])
        #expect(try await fixture.send("UNLOCK", "/a", [("Lock-Token", token)], "<x/>").status == 415)
        #expect(try await fixture.send("UNLOCK", "/a", [("Lock-Token", token)], lock).status == 204)
    }

    @Test("Links that lead back up end no listing")
    func links() async throws {
        let fixture = try DAVFixture()
        try fixture.directory.write("x", to: "d/e/x")
        try fixture.directory.link("d/e/up", to: "../..")
        try fixture.directory.link("d/e/self", to: ".")
        try fixture.directory.link("out", to: "/etc")
        try fixture.directory.link("none", to: "nowhere")
        let reply = try await fixture.send("PROPFIND", "/", [("Depth", "infinity")])
        #expect(reply.status == 207)
        #expect(try Set(reply.hrefs()) == ["/", "/d/", "/d/e/", "/d/e/x", "/d/e/up/", "/d/e/self/"])
        #expect(try await fixture.send("COPY", "/d/e/x", [("Destination", "/d/e/up/d/e/x")]).status == 403)
        #expect(try await fixture.send("PUT", "/out/x", [], "x").status != 201)
    }
}
