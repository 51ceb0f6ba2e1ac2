import DirectoryRoot
import Testing

@testable import ServerCore

@Suite("The If field, RFC 4918 §10.4")
struct IfHeaderTests {
    private func state(_ uri: String, not: Bool = false) -> IfHeader.Condition {
        .init(isNegated: not, subject: .state(LockToken(uri: uri)))
    }

    private let syncToken = "urn:x-shareserve:sync:" + String(repeating: "0", count: 40)

    @Test("Untagged lists are about the target")
    func untagged() throws {
        let header = try IfHeader(header: "(<urn:uuid:1> [\"a]b\"]) (Not <DAV:no-lock>)")
        #expect(
            header.lists == [
                .init(
                    resource: nil,
                    conditions: [
                        state("urn:uuid:1"), .init(isNegated: false, subject: .entityTag("\"a]b\"")),
                    ]),
                .init(resource: nil, conditions: [state("DAV:no-lock", not: true)]),
            ])
        #expect(header.tokens == [LockToken(uri: "urn:uuid:1"), LockToken(uri: "DAV:no-lock")])
    }

    @Test("RFC 6578 §5: a sync-token is the state of a collection, and submits no lock token")
    func collections() throws {
        let header = try IfHeader(header: "</> (<\(syncToken)> Not <\(syncToken)0>)")
        let token = try #require(SyncToken(syncToken))
        #expect(
            header.lists[0].conditions == [
                .init(isNegated: false, subject: .collection(token)), state("\(syncToken)0", not: true),
            ])
        #expect(header.tokens == [LockToken(uri: "\(syncToken)0")])
    }

    @Test("A tag holds for all lists up to the next one")
    func tagged() throws {
        let header = try IfHeader(header: "<http://h/a> (<a:1>)(not[W/\"x\"]) </b>\t(<b:2>)")
        #expect(header.lists.map(\.resource) == ["http://h/a", "http://h/a", "/b"])
        #expect(header.lists[1].conditions == [.init(isNegated: true, subject: .entityTag("W/\"x\""))])
    }

    @Test(
        "What does not follow the grammar is refused",
        arguments: [
            "", " ", "()", "(", "(<a:b>", "<a:b>", "<a:b> <c:d> (<e:f>)", "(<a:b>) </x> (<c:d>)", "(Not)",
            "(Not Not <a:b>)", "(<a:b>) garbage", "[\"x\"]", "(\"x\")", "(<>)", "(<a b:c>)", "([x])", "([\"x])",
            "([\"x\")", "(<nocolon>)", "(<a:b>), (<c:d>)", "(No <a:b>)", "<> (<a:b>)", "<relative> (<a:b>)",
            "<//> <a:b>", "([W\"x\"])", "(<a:<b>)",
        ])
    func malformed(text: String) {
        #expect(throws: HTTPError.self) { try IfHeader(header: text) }
    }

    @Test("More conditions than anybody sends are refused")
    func bounded() {
        let many = String(repeating: "(<a:b>)", count: 513)
        #expect(throws: HTTPError.self) { try IfHeader(header: many) }
        let states = String(repeating: "(<\(syncToken)>)", count: 17)
        #expect(throws: HTTPError.self) { try IfHeader(header: states) }
    }
}
