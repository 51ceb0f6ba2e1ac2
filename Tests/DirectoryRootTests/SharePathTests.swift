import DirectoryRoot
import Testing

@Suite("SharePath") struct SharePathTests {
    @Test(
        "A URL path is split at slashes, then each segment decoded once",
        arguments: [
            ("", ""), ("/", ""), ("//", ""), ("/a", "a"), ("a/", "a"), ("/a//b/", "a/b"), ("/a%20b", "a b"),
            ("/a%2520b", "a%20b"), ("/%252e%252e/x", "%2e%2e/x"), ("/a/./b", "a/b"), ("/a/%2e/b", "a/b"),
            ("/a/../b", "b"), ("/a/%2e%2E/b", "b"), ("/a/.%2e/b", "b"), ("/a/b/../../c", "c"), ("/a/..", ""),
            ("/a..b", "a..b"), ("/...", "..."), ("/..a", "..a"), ("/a%23%3F%25", "a#?%"), ("/a%0Ab", "a\nb"),
            ("/a\\..\\b", "a\\..\\b"), ("/%F0%9F%98%80", "😀"), ("/a;b=c", "a;b=c"), ("/C:", "C:"),
        ])
    func decoding(_ row: (String, String)) throws {
        #expect(try SharePath(decoding: row.0).bytes == Array(row.1.utf8))
        #expect(try Array(row.0.utf8).withUnsafeBytes { try SharePath(decoding: $0) }.bytes == Array(row.1.utf8))
    }

    @Test(
        "What could leave the root or has no one meaning is refused",
        arguments: [
            "/..", "/../x", "/a/../..", "/%2e%2e", "/%2E./x", "/a/../../a", "/a%2Fb", "/a%2fb", "/%00", "/a%00.txt",
            "/a\0b", "/%", "/%4", "/%4g", "/%g4", "/%-1", "/a/%2e%2e/%2e%2e/etc", "/%2f", "/..%2f", "/%u0041",
            "/" + String(repeating: "x", count: 256), "/" + String(repeating: "%78", count: 256),
            String(repeating: "/ab", count: 1366), String(repeating: "%61", count: 30_000),
        ])
    func refused(_ path: String) {
        #expect(throws: RootError.invalidName) { try SharePath(decoding: path) }
    }

    @Test("Names of 255 bytes and paths of 4,095 are taken") func longest() throws {
        #expect(try SharePath(decoding: "/" + String(repeating: "x", count: 255)).bytes.count == 255)
        let path = String(repeating: "/abc", count: 1_024)
        #expect(try SharePath(decoding: path).bytes.count == 4_095)
        #expect(throws: RootError.invalidName) { try SharePath(decoding: path).appending("x".utf8) }
    }

    @Test("Bytes that are no UTF-8 stay as they are") func rawBytes() throws {
        let path = try SharePath(decoding: "/%ff%FE/a%80")
        #expect(path.bytes == [0xFF, 0xFE, 0x2F, 0x61, 0x80])
        #expect(path.percentEncoded == "%FF%FE/a%80")
    }

    @Test("Paths that are not URLs are not decoded") func plainBytes() throws {
        #expect(try SharePath(bytes: "a%2Fb/./c%".utf8).bytes == Array("a%2Fb/c%".utf8))
        #expect(throws: RootError.invalidName) { try SharePath(bytes: "../a".utf8) }
        #expect(throws: RootError.invalidName) { try SharePath(bytes: [0x61, 0]) }
    }

    @Test("Percent-encoding comes back byte for byte, for every byte") func roundTrip() throws {
        for byte in UInt8.min...UInt8.max where byte != 0 && byte != UInt8(ascii: "/") {
            let path = try SharePath(bytes: [UInt8(ascii: "a"), byte])
            #expect(try SharePath(decoding: path.percentEncoded) == path)
            #expect(
                path.percentEncoded.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && !"\"'<>&;#?\\^`{|}".utf8.contains($0) })
        }
    }

    @Test("Ancestors are found by component, not by text") func ancestors() throws {
        let a = try SharePath(decoding: "/a")
        let ab = try SharePath(decoding: "/ab")
        let nested = try SharePath(decoding: "/a/b/c")
        #expect(a.isAncestor(of: nested) && !a.isAncestor(of: ab) && !a.isAncestor(of: a) && a.contains(a))
        #expect(SharePath.root.isAncestor(of: a) && !SharePath.root.isAncestor(of: .root))
        #expect(nested.parent.bytes == Array("a/b".utf8) && Array(nested.name) == Array("c".utf8))
        #expect(a.parent == .root && SharePath.root.parent == .root && nested.depth == 3 && SharePath.root.depth == 0)
        #expect(nested.relative(to: a)?.bytes == Array("b/c".utf8) && nested.relative(to: ab) == nil)
        #expect(try a.appending("x".utf8).appending(ab).bytes == Array("a/x/ab".utf8))
    }

    @Test("A name is one component", arguments: ["", ".", "..", "a/b", "a\0"]) func names(_ name: String) {
        #expect(throws: RootError.invalidName) { try SharePath.root.appending(name.utf8) }
    }

    @Test(
        "A file's number stands before its extension, a folder's at the end",
        arguments: [
            ("a.txt", 1, "a (1).txt"), ("a.txt", 0, "a.txt"), ("dir.d/a", 2, "dir.d/a (2)"),
            (".hidden", 1, ".hidden (1)"),
            ("x.tar.gz", 3, "x (3).tar.gz"), (".tar.gz", 1, ".tar (1).gz"), ("a.", 1, "a (1)."),
            ("X.TAR.GZ", 1, "X (1).TAR.GZ"),
            ("no.a very long ending of it", 1, "no.a very long ending of it (1)"),
        ])
    func numbering(path: String, number: Int, expected: String) throws {
        #expect(try SharePath(path).numbered(number) == SharePath(expected))
        let folder = number == 0 ? path : "\(path) (\(number))"
        #expect(try SharePath(path).numbered(number, isDirectory: true) == SharePath(folder))
    }

    @Test("A numbered name at the limit is cut between characters") func longNumbering() throws {
        let stem = String(repeating: "ü", count: 125)
        let kept = String(repeating: "ü", count: 123)
        #expect(try SharePath(stem + ".txt").numbered(10) == SharePath(kept + " (10).txt"))
        let folder = SharePath(String(repeating: "ü", count: 127))
        #expect(try folder.numbered(1, isDirectory: true) == SharePath(stem + " (1)"))
    }
}
