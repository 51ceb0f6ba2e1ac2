import DirectoryRoot
import Synchronization
import TestSupport
import Testing

@testable import WebDAV

/// The conditions of a request hold at the moment of the change, not only when the request is first checked.
@Suite("Conditions under the commit lock, RFC 9110 §13.2, RFC 4918 §10.4")
struct ConditionRaceTests {
    /// Another client that does something between the first check of a request and its change of a name.
    private final class Rival: ShareObserver {
        private let act = Mutex<(@Sendable () -> Void)?>(nil)

        func next(_ work: @escaping @Sendable () -> Void) { act.withLock { $0 = work } }

        func mayHappen(_ change: ShareChange, by user: String?) -> Bool {
            let work = act.withLock { act in
                defer { act = nil }
                return act
            }
            work?()
            return true
        }
    }

    private let rival = Rival()
    private let fixture: DAVFixture

    init() throws {
        var policy = RootPolicy()
        policy.observer = rival
        fixture = try DAVFixture(policy: policy)
        try fixture.directory.write("mine", to: "a")
        try fixture.directory.write("other", to: "b")
    }

    private func tag(_ path: String) async throws -> String {
        try #require(try await fixture.send("PROPFIND", path, [("Depth", "0")]).value("getetag"))
    }

    private func replace(_ name: String) {
        let directory = fixture.directory
        rival.next { try? directory.write("theirs, and longer", to: name) }
    }

    @Test(
        "COPY, MOVE and DELETE under If-Match fail when the source changes in between",
        arguments: ["COPY", "MOVE", "DELETE"])
    func source(method: String) async throws {
        let destination = method == "DELETE" ? [] : [("Destination", "/c")]
        for field in [("If-Match", try await tag("/a")), ("If", "([\(try await tag("/a"))])")] {
            try fixture.directory.write("mine", to: "a")
            let field = (field.0, field.1.hasPrefix("(") ? "([\(try await tag("/a"))])" : try await tag("/a"))
            replace("a")
            let reply = try await fixture.send(method, "/a", destination + [field])
            #expect(reply.status == 412, "\(field)")
            #expect(fixture.directory.text("a") == "theirs, and longer")
            #expect(!fixture.directory.exists("c"))
        }
    }

    @Test("A tagged If about the destination holds when it is replaced", arguments: ["COPY", "MOVE"])
    func destination(method: String) async throws {
        let condition = ("If", "</b> ([\(try await tag("/b"))])")
        replace("b")
        let reply = try await fixture.send(method, "/a", [("Destination", "/b"), condition])
        #expect(reply.status == 412)
        #expect(fixture.directory.text("b") == "theirs, and longer")
        #expect(fixture.directory.text("a") == "mine")
    }

    @Test(
        "A tagged If about another resource holds when a file is replaced or a folder made",
        arguments: ["PUT", "MKCOL"])
    func another(method: String) async throws {
        let condition = ("If", "</b> ([\(try await tag("/b"))])")
        replace("b")
        let reply = try await fixture.send(method, "/new", [condition])
        #expect(reply.status == 412)
        #expect(!fixture.directory.exists("new"))
    }

    @Test(
        "A condition that holds lets every method through, and one on the own new tag does not stop PROPPATCH half-way")
    func holds() async throws {
        let match = ("If-Match", try await tag("/a"))
        let body = proppatch(
            "<D:set><D:prop><D:getlastmodified>Sat, 01 Jan 2022 10:00:02 GMT</D:getlastmodified><x:p>1</x:p></D:prop></D:set>"
        )
        let patched = try await fixture.send("PROPPATCH", "/a", [match, ("If", "([\(match.1)])")], body)
        #expect(try patched.property("p", in: "urn:x")?.status == 200)
        #expect(try await fixture.send("PROPPATCH", "/a", [match], body).status == 412)
        let now = ("If-Match", try await tag("/a"))
        #expect(try await fixture.send("LOCK", "/a", [match], lockInfo()).status == 412)
        let token = try #require(try await fixture.send("LOCK", "/a", [now], lockInfo())["Lock-Token"])
        let held = ("If", "(\(token) [\(now.1)])")
        #expect(try await fixture.send("COPY", "/a", [now, ("Destination", "/c")]).status == 201)
        #expect(try await fixture.send("MOVE", "/a", [now, held, ("Destination", "/d")]).status == 201)
        #expect(try await fixture.send("DELETE", "/d", [now]).status == 204)
        #expect(
            try await fixture.send("LOCK", "/e", [("If-None-Match", "*"), ("Depth", "0")], lockInfo()).status == 201)
    }
}
