import DirectoryRoot
import TestSupport
import Testing

@testable import ServerCore

@Suite("PrefixFolders")
struct PrefixFoldersTests {
    let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    private func answer(_ method: Method, _ target: String, isReadOnly: Bool = false) throws -> Response? {
        var policy = RootPolicy()
        policy.isReadOnly = isReadOnly
        let root = try DirectoryRoot(path: directory.path, policy: policy)
        let gate = Gate(AccessRules(), root: root, prefix: "/a&b/files")
        let admission = try gate.answer(
            method, target, [("Host", "localhost")], authority: "localhost", scheme: "http", peer: "192.0.2.7")
        if case .refuse(let response) = admission { return response }
        return nil
    }

    @Test("A prefix that an app gives means nothing in the XML")
    func escaped() throws {
        let response = try #require(try answer(.propfind, "/a&b"))
        #expect(response.status == .multiStatus)
        guard case .bytes(let bytes) = response.body else {
            Issue.record("no bytes")
            return
        }
        let text = String(decoding: bytes, as: UTF8.self)
        #expect(text.contains("<D:href>/a&amp;b/</D:href>") && text.contains("<D:href>/a&amp;b/files/</D:href>"))
        #expect(!text.contains("a&b"))
    }

    @Test("Locks are not promised above a share that has none", arguments: [(false, "1, 2, 3"), (true, "1, 3")])
    func classes(isReadOnly: Bool, field: String) throws {
        #expect(try answer(.options, "/a&b/", isReadOnly: isReadOnly)?.fields["DAV"] == field)
    }
}
