import DirectoryRoot
import TestSupport
import Testing

@Suite("SharePath") struct SharePathTests {
    @Test(
        "Text is split at slashes, and nothing in it is decoded",
        arguments: [
            ("", ""), ("/", ""), ("//", ""), ("/a", "a"), ("a/", "a"), ("/a//b/", "a/b"), ("/a%20b", "a%20b"),
            ("/%2e%2e/x", "%2e%2e/x"), ("/a/./b", "a/b"), ("/a/../b", "b"), ("/a/b/../../c", "c"), ("/a/..", ""),
            ("/a..b", "a..b"), ("/...", "..."), ("/..a", "..a"), ("/a\\..\\b", "a\\..\\b"), ("/a%2Fb/c%", "a%2Fb/c%"),
            ("/a;b=c", "a;b=c"), ("/C:", "C:"), ("/😀", "😀"),
        ])
    func reading(_ row: (String, String)) throws {
        #expect(try SharePath(bytes: row.0.utf8).bytes == Array(row.1.utf8))
        #expect(try SharePath(bytes: row.0.utf8.lazy.map { $0 }).bytes == Array(row.1.utf8))
    }

    @Test(
        "What could leave the root or has no one meaning is refused",
        arguments: [
            "/..", "/../x", "/a/../..", "/a/../../a", "a\0b", "/a/\0",
            "/" + String(repeating: "x", count: 256), String(repeating: "/ab", count: 1366),
            String(repeating: "a/../", count: 6_000),
        ])
    func refused(_ path: String) {
        #expect(throws: RootError.invalidName) { try SharePath(bytes: path.utf8) }
    }

    @Test("Names of 255 bytes and paths of 4,095 are taken") func longest() throws {
        #expect(try SharePath(text: "/" + String(repeating: "x", count: 255)).bytes.count == 255)
        let path = String(repeating: "/abc", count: 1_024)
        #expect(try SharePath(text: path).bytes.count == 4_095)
        #expect(throws: RootError.invalidName) { try SharePath(text: path).appending("x".utf8) }
    }

    @Test("Bytes that are no UTF-8 stay as they are") func rawBytes() throws {
        let path = try SharePath(bytes: [0xFF, 0xFE, 0x2F, 0x61, 0x80])
        #expect(path.bytes == [0xFF, 0xFE, 0x2F, 0x61, 0x80] && path.percentEncoded == "%FF%FE/a%80")
    }

    @Test("Percent-encoded, nothing is left that means something in an address or in markup") func encoding() throws {
        for byte in UInt8.min...UInt8.max where byte != 0 && byte != UInt8(ascii: "/") {
            let path = try SharePath(bytes: [UInt8(ascii: "a"), byte])
            #expect(
                path.percentEncoded.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && !"\"'<>&;#?\\^`{|}".utf8.contains($0) })
        }
    }

    @Test("Ancestors are found by component, not by text") func ancestors() throws {
        let a = try SharePath(text: "/a")
        let ab = try SharePath(text: "/ab")
        let nested = try SharePath(text: "/a/b/c")
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
