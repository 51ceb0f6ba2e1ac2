import CSyscalls
import DirectoryRoot
import ServerCore
import TestSupport
import Testing

@testable import WebDAV

@Suite("REPORT sync-collection, RFC 6578")
struct ReportTests {
    private func body(_ token: String, level: String = "1", more: String = "") -> String {
        """
        <D:sync-collection xmlns:D='DAV:'><D:sync-token>\(token)</D:sync-token><D:sync-level>\(level)</D:sync-level>\
        \(more)<D:prop><D:getetag/></D:prop></D:sync-collection>
        """
    }

    private func token(_ reply: Reply) throws -> String {
        try #require(try reply.xml().child("sync-token")?.text, "\(reply.text)")
    }

    @Test("§3.2 the first answer lists all, later ones what is new, changed or gone")
    func cycle() async throws {
        let fixture = try DAVFixture()
        for name in ["a", "b", "c"] { try fixture.directory.write(name, to: name) }
        try fixture.directory.write("deep", to: "d/x")
        let first = try await fixture.send("REPORT", "/", [("Depth", "0")], body(""))
        #expect(first.status == 207)
        #expect(try first.hrefs() == ["/a", "/b", "/c", "/d/"])
        #expect(try first.property("getetag", of: "/a")?.status == 200)
        let again = try await fixture.send("REPORT", "/", [], body(token(first)))
        #expect(try again.hrefs().isEmpty)
        #expect(try token(again) == token(first))
        try fixture.directory.write("changed", to: "a")
        _ = try await fixture.send("DELETE", "/b")
        _ = try await fixture.send("PUT", "/n%C3%BC", [], "new")
        try fixture.directory.write("not of level 1", to: "d/y")
        let later = try await fixture.send("REPORT", "/", [], body(token(first)))
        #expect(try later.hrefs() == ["/a", "/n%C3%BC", "/b"])
        #expect(try later.status(of: "/b")?.contains("404") == true)
        #expect(try await fixture.send("REPORT", "/", [], body(token(later))).hrefs().isEmpty)
    }

    @Test("What no path is short enough for is not told of, and keeps nobody from the rest", arguments: ["file", "d/"])
    func tooDeep(member: String) async throws {
        let fixture = try DAVFixture()
        try fixture.directory.write("", to: member == "file" ? "moved/file" : "moved/d/file")
        var deep = ""
        for _ in 0..<16 {
            deep += "/" + String(repeating: "d", count: 250)
            #expect(try await fixture.send("MKCOL", deep).status == 201)
        }
        let last = deep + "/" + String(repeating: "m", count: SharePath.longestPath - deep.utf8.count)
        #expect(try await fixture.send("MOVE", "/moved", [("Destination", last)]).status == 201)
        let first = try await fixture.send("REPORT", "/", [], body("", level: "infinite"))
        #expect(try first.status == 207 && first.hrefs().count == 17 && first.hrefs().last == last + "/")
        let again = try await fixture.send("REPORT", "/", [], body(token(first), level: "infinite"))
        #expect(try again.hrefs() == [] && token(again) == token(first))
        let listed = try await fixture.send("PROPFIND", "/", [("Depth", "infinity")])
        #expect(try Set(listed.hrefs()) == Set(first.hrefs() + ["/"]))
    }

    @Test("A folder is changed by its properties, and not by its members", arguments: ["1", "infinite"])
    func propertiesOfFolders(level: String) async throws {
        let fixture = try DAVFixture()
        try fixture.directory.write("", to: "d/e/x")
        try fixture.directory.makeDirectory("f")
        let folder = level == "1" ? "/d/" : "/d/e/"
        var known = try token(await fixture.send("REPORT", "/", [], body("", level: level)))
        func changes() async throws -> [String] {
            let reply = try await fixture.send("REPORT", "/", [], body(known, level: level))
            known = try token(reply)
            return try reply.hrefs()
        }
        for instructions in [
            "<D:set><D:prop><x:p>1</x:p></D:prop></D:set>", "<D:set><D:prop><x:p>2</x:p></D:prop></D:set>",
            "<D:set><D:prop><x:q>2</x:q></D:prop></D:set>", "<D:remove><D:prop><x:p/><x:q/></D:prop></D:remove>",
            "<D:set><D:prop><x:p>\(String(repeating: "v", count: 50_000))</x:p></D:prop></D:set>",
        ] {
            #expect(try await fixture.send("PROPPATCH", folder, [], proppatch(instructions)).status == 207)
            #expect(try await changes() == [folder], "\(instructions.prefix(50))")
            #expect(try await changes().isEmpty)
        }
        #expect(try await fixture.send("PUT", folder + "new", [], "new").status == 201)
        #expect(try await changes() == (level == "1" ? [] : [folder + "new"]))
    }

    @Test("A new link to a folder takes nothing from that folder")
    func links() async throws {
        let fixture = try DAVFixture()
        try fixture.directory.write("", to: "folder/deep/file")
        let first = try await fixture.send("REPORT", "/", [], body("", level: "infinite"))
        for index in 0..<20 { try fixture.directory.link("link\(index)", to: "folder") }
        let second = try await fixture.send("REPORT", "/", [], body(token(first), level: "infinite"))
        #expect(second.status == 207)
        #expect(try Set(second.hrefs()) == Set((0..<20).map { "/link\($0)/" }))
    }

    @Test("All answers together hold a bounded memory, but for small ones and one that is alone")
    func memory() throws {
        let fixture = try DAVFixture()
        for index in 0..<5_000 { try fixture.directory.write("", to: "d/\(index)") }
        let query = try SyncQuery(DAVBody.read(Array(body("").utf8), charset: nil, maxDepth: 10))
        let trees = TreeMemory(1_000)
        func report(_ path: String) throws -> ChangeStream {
            try ChangeStream(
                of: SharePath(text: path), in: fixture.share, query, isMinimal: false, prefix: "",
                memory: trees.portion())
        }
        func tokenProperty(_ path: String) throws {
            let asked = Array(#"<propfind xmlns="DAV:"><prop><sync-token/></prop></propfind>"#.utf8)
            _ = try MultiStatusStream(
                of: SharePath(text: path), in: fixture.share,
                PropertySelection(propfind: asked, charset: nil, maxDepth: 10), depth: .zero, isMinimal: false,
                prefix: "", maxMembers: nil, memory: trees.portion())
        }
        var first: ChangeStream? = try report("d")
        #expect(first?.isAtEnd == false)
        #expect(throws: RootError.tooMany) { try report("d") }
        #expect(throws: Never.self) { try report("") }
        #expect(throws: RootError.tooMany) { try tokenProperty("d") }
        first = nil
        #expect(throws: Never.self) { try report("d") }
        #expect(throws: Never.self) { try tokenProperty("d") }
    }

    /// In a process of its own: the limit holds for all of it.
    @Test("A collection that can't be read for want of descriptors is not called too large")
    func withoutDescriptors() async {
        await #expect(processExitsWith: .success) {
            let fixture = try DAVFixture()
            try fixture.directory.write("", to: "d/x")
            let query = try SyncQuery(DAVBody.read(Array(ReportTests().body("").utf8), charset: nil, maxDepth: 10))
            func report() throws {
                _ = try ChangeStream(
                    of: SharePath(text: "d"), in: fixture.share, query, isMinimal: false, prefix: "",
                    memory: TreeMemory(1_000_000).portion())
            }
            try report()
            sys_limit_open_files(0)
            #expect(throws: RootError.tooMany) { try report() }
        }
    }

    @Test("§3.3 sync-level infinite reaches all below, and its tokens serve level 1 too")
    func infinite() async throws {
        let fixture = try DAVFixture()
        try fixture.directory.write("1", to: "d/e/x")
        let first = try await fixture.send("REPORT", "/", [], body("", level: "infinite"))
        #expect(try first.hrefs() == ["/d/", "/d/e/", "/d/e/x"])
        try fixture.directory.write("22", to: "d/e/x")
        let later = try await fixture.send("REPORT", "/", [], body(token(first), level: "infinite"))
        #expect(try later.hrefs() == ["/d/e/x"])
        #expect(try await fixture.send("REPORT", "/", [], body(token(first))).hrefs().isEmpty)
        let flat = try await fixture.send("REPORT", "/", [], body(""))
        let wrong = try await fixture.send("REPORT", "/", [], body(token(flat), level: "infinite"))
        #expect(wrong.status == 403)
    }

    @Test("Tokens survive a restart, and mean nothing elsewhere")
    func restart() async throws {
        let fixture = try DAVFixture()
        try fixture.directory.write("a", to: "a")
        try fixture.directory.makeDirectory("d")
        let first = try await fixture.send("REPORT", "/", [], body(""))
        let restarted = DAVFixture(sharing: fixture, as: Share(root: try DirectoryRoot(path: fixture.directory.path)))
        try fixture.directory.write("bb", to: "b")
        #expect(try await restarted.send("REPORT", "/", [], body(token(first))).hrefs() == ["/b"])
        let elsewhere = try await fixture.send("REPORT", "/d", [], body(token(first)))
        #expect(elsewhere.status == 403)
        #expect(elsewhere.names("valid-sync-token"))
        for bad in [
            "urn:x-shareserve:sync:../../locks", "http://other/1",
            "urn:x-shareserve:sync:" + String(repeating: "0", count: 40),
        ] {
            let reply = try await fixture.send("REPORT", "/", [], body(bad))
            #expect(reply.status == 403)
            #expect(reply.names("valid-sync-token"))
        }
    }

    @Test("§4 the sync-token property is a token that a report takes")
    func property() async throws {
        let fixture = try DAVFixture()
        try fixture.directory.write("a", to: "a")
        let found = try await fixture.send(
            "PROPFIND", "/", [("Depth", "0")], propfind("<D:sync-token/><D:supported-report-set/>"))
        let token = try #require(try found.value("sync-token"))
        #expect(found.text.contains("<D:sync-collection/>"))
        #expect(try await fixture.send("REPORT", "/", [], body(token)).hrefs().isEmpty)
        try fixture.directory.write("b", to: "b")
        #expect(try await fixture.send("REPORT", "/", [], body(token)).hrefs() == ["/b"])
    }

    @Test(
        "§3.6 a limit gives the answer in parts, each with a token from which the rest follows", arguments: [1, 2, 3])
    func limit(size: Int) async throws {
        let fixture = try DAVFixture()
        for name in ["a", "b", "c", "d/x", "d/y"] { try fixture.directory.write(name, to: name) }
        let limit = "<D:limit><D:nresults>\(size)</D:nresults></D:limit>"

        func pages(from token: String) async throws -> (hrefs: [String], token: String) {
            var (found, token) = ([String](), token)
            while true {
                let reply = try await fixture.send("REPORT", "/", [], body(token, level: "infinite", more: limit))
                #expect(reply.status == 207)
                token = try self.token(reply)
                let isCut = try reply.status(of: "/")?.contains("507") == true
                let hrefs = try reply.hrefs().filter { $0 != "/" }
                found += hrefs
                guard isCut else { return (found, token) }
                #expect(reply.names("response"))
                #expect(reply.text.contains("<D:error><D:number-of-matches-within-limits/></D:error>"))
                #expect(hrefs.count == size)
            }
        }
        let first = try await pages(from: "")
        #expect(first.hrefs == ["/a", "/b", "/c", "/d/", "/d/x", "/d/y"])
        try fixture.directory.write("changed", to: "b")
        try fixture.directory.write("new", to: "e")
        _ = try await fixture.send("DELETE", "/a")
        _ = try await fixture.send("DELETE", "/d")
        let second = try await pages(from: first.token)
        #expect(second.hrefs == ["/b", "/e", "/a", "/d/", "/d/x", "/d/y"])
        let end = try await fixture.send("REPORT", "/", [], body(second.token, level: "infinite", more: limit))
        #expect(try end.hrefs().isEmpty)
        #expect(try token(end) == second.token)
    }

    @Test("§3.6 what changes between two parts is told")
    func changesBetweenParts() async throws {
        let fixture = try DAVFixture()
        for name in ["a", "b", "c"] { try fixture.directory.write(name, to: name) }
        let limit = "<D:limit><D:nresults>2</D:nresults></D:limit>"
        let first = try await fixture.send("REPORT", "/", [], body("", more: limit))
        #expect(try first.hrefs() == ["/a", "/b", "/"])
        try fixture.directory.write("changed", to: "a")
        _ = try await fixture.send("DELETE", "/b")
        _ = try await fixture.send("DELETE", "/c")
        let rest = try await fixture.send("REPORT", "/", [], body(token(first), more: limit))
        #expect(try rest.hrefs() == ["/a", "/b"])
        #expect(try rest.status(of: "/b")?.contains("404") == true)
    }

    @Test("A token of a whole tree is one of its folder alone, too")
    func levels() async throws {
        let fixture = try DAVFixture()
        for name in ["a", "d/x", "b"] { try fixture.directory.write(name, to: name) }
        let whole = try await fixture.send("REPORT", "/", [], body("", level: "infinite"))
        try fixture.directory.write("changed", to: "b")
        try fixture.directory.write("changed", to: "d/x")
        let flat = try await fixture.send("REPORT", "/", [], body(token(whole)))
        #expect(try flat.hrefs() == ["/b"])
        #expect(try await fixture.send("REPORT", "/", [], body(token(flat), level: "infinite")).status == 403)
    }

    @Test("A limit of nothing, another report, another Depth and a file are refused")
    func refusals() async throws {
        let fixture = try DAVFixture()
        for name in ["a", "b", "c"] { try fixture.directory.write(name, to: name) }
        for number in ["0", "-1", "few"] {
            let limit = "<D:limit><D:nresults>\(number)</D:nresults></D:limit>"
            let limited = try await fixture.send("REPORT", "/", [], body("", more: limit))
            #expect(limited.status == 507)
            #expect(limited.names("number-of-matches-within-limits"))
        }
        let much = "<D:limit><D:nresults>99999999999999999999</D:nresults></D:limit>"
        #expect(try await fixture.send("REPORT", "/", [], body("", more: much)).hrefs() == ["/a", "/b", "/c"])
        let other = try await fixture.send("REPORT", "/", [], "<D:expand-property xmlns:D='DAV:'/>")
        #expect(other.status == 403)
        #expect(other.names("supported-report"))
        #expect(try await fixture.send("REPORT", "/", [("Depth", "1")], body("")).status == 400)
        #expect(try await fixture.send("REPORT", "/a", [], body("")).status == 403)
        #expect(try await fixture.send("REPORT", "/", [], "").status == 400)
        #expect(try await fixture.send("REPORT", "/none", [], body("")).status == 404)
    }
}
