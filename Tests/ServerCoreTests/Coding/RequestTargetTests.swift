import DirectoryRoot
import ServerCore
import Testing

@Suite("RequestTarget")
struct RequestTargetTests {
    private func path(_ text: String, below prefix: String = "") throws -> [UInt8] {
        try RequestTarget.decode(path: Array(text.utf8)[...], below: prefix).path.bytes
    }

    @Test(
        "A path is split at slashes, then each segment decoded once",
        arguments: [
            ("", ""), ("/", ""), ("//", ""), ("/a", "a"), ("/a/", "a"), ("/a//b/", "a/b"), ("/a%20b", "a b"),
            ("/a%2520b", "a%20b"), ("/%252e%252e/x", "%2e%2e/x"), ("/a..b", "a..b"), ("/...", "..."),
            ("/..a", "..a"), ("/.", ""), ("/./", ""), ("/a/./b", "a/b"), ("/a/.", "a"), ("/././a", "a"),
            ("/a%23%3F%25", "a#?%"), ("/a%0Ab", "a\nb"), ("/a\\..\\b", "a\\..\\b"),
            ("/%F0%9F%98%80", "😀"), ("/a;b=c", "a;b=c"), ("/C:", "C:"),
        ])
    func decoding(_ row: (String, String)) throws {
        #expect(try path(row.0) == Array(row.1.utf8))
    }

    @Test(
        "What could leave the share or has no one meaning is refused",
        arguments: [
            "/..", "/../x", "/a/../b", "/./..", "/%2e", "/a/%2E/b", "/%2e%2e", "/%2E./x", "/a/.%2e/b", "/a%2Fb",
            "/a%2fb", "/%00", "/a%00.txt", "/%", "/%4", "/%4g", "/%g4", "/%-1", "/%2f", "/..%2f", "/%u0041",
            "/" + String(repeating: "x", count: 256), "/" + String(repeating: "%78", count: 256),
        ])
    func refused(_ text: String) {
        let error = #expect(throws: HTTPError.self) { try path(text) }
        #expect(error?.status == .badRequest)
    }

    @Test("A path that no disk can hold is too long")
    func tooLong() throws {
        #expect(try path(String(repeating: "/abc", count: 1_024)).count == 4_095)
        let error = #expect(throws: HTTPError.self) { try path(String(repeating: "/abc", count: 1_025)) }
        #expect(error?.status == .uriTooLong)
    }

    @Test("Every name comes back, percent-encoded, byte for byte")
    func roundTrip() throws {
        for byte in UInt8.min...UInt8.max where byte != 0 && byte != UInt8(ascii: "/") {
            let name = try SharePath(bytes: [UInt8(ascii: "a"), byte])
            #expect(try path("/" + name.percentEncoded) == name.bytes)
        }
        #expect(try path("/%ff%FE/a%80") == [0xFF, 0xFE, 0x2F, 0x61, 0x80])
    }

    @Test(
        "A prefix ends where a name ends, however either is encoded",
        arguments: [
            ("/files", "/files", ""), ("/files/a", "/files", "a"), ("/%66iles/a", "/files", "a"),
            ("/my%20files/a", "/my%20files", "a"), ("/filesystem", "/files", nil), ("/file", "/files", nil),
            ("/files%2Fa", "/files", nil), ("/", "/files", nil), ("/files/../a", "/files", nil),
        ])
    func prefixes(_ row: (String, String, String?)) throws {
        #expect((try? path(row.0, below: row.1)) == row.2.map { Array($0.utf8) })
    }
}
