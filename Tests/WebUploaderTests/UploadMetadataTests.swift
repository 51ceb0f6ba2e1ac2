import DirectoryRoot
import ServerCore
import Testing

@testable import WebUploader

@Suite("UploadMetadata") struct UploadMetadataTests {
    private func field(_ pairs: [(String, String)]) -> String {
        pairs.map { $0.0 + " " + Base64.encode($0.1.utf8) }.joined(separator: ",")
    }

    @Test("the target is the name in its folder")
    func target() throws {
        let metadata = try UploadMetadata(field: field([("path", "/a b/"), ("filename", "c%20.txt")]))
        #expect(try metadata.target { _ in true }.bytes == Array("a b/c%20.txt".utf8))
        let tree = try UploadMetadata(field: field([("path", "/"), ("relativePath", "x/y/z"), ("filename", "z")]))
        #expect(try tree.target { _ in true }.bytes == Array("x/y/z".utf8))
        let uppy = try UploadMetadata(field: field([("relativePath", "null"), ("name", "n")]))
        #expect(try uppy.target { _ in true }.bytes == Array("n".utf8))
        let file = try UploadMetadata(field: field([("relativePath", "null"), ("filename", "null")]))
        #expect(try file.target { _ in true }.bytes == Array("null".utf8), "a file can have that name")
    }

    @Test("a path may be the file's own, with its name once more or without, unless a folder is there")
    func wholePath() throws {
        for (path, names, expected) in [
            ("/a/b.txt", [], "a/b.txt"), ("a/b.txt", [("filename", "b.txt")], "a/b.txt"),
            ("/a/b.txt", [("name", "c.txt")], "a/b.txt/c.txt"), ("/a/b.txt/", [("name", "b.txt")], "a/b.txt/b.txt"),
            ("/b", [("relativePath", "x/b"), ("filename", "b")], "b/x/b"),
        ] as [(String, [(String, String)], String)] {
            let metadata = try UploadMetadata(field: field([("path", path)] + names))
            #expect(try metadata.target { _ in false }.bytes == Array(expected.utf8))
        }
        let twice = try UploadMetadata(field: field([("path", "/b"), ("filename", "b")]))
        #expect(try twice.target { $0.bytes == Array("b".utf8) }.bytes == Array("b/b".utf8))
        let folder = try UploadMetadata(field: field([("path", "/b")]))
        #expect(throws: HTTPError.self) { try folder.target { _ in true } }
    }

    @Test(
        "a name that leads out, or is none, is refused",
        arguments: ["", "..", "../x", "a/../../x", "/", "a/", "a\u{0}b", String(repeating: "x", count: 256)])
    func badTarget(name: String) throws {
        let metadata = try UploadMetadata(field: field([("path", "/"), ("filename", name)]))
        #expect(throws: HTTPError.self) { try metadata.target { _ in true } }
    }

    @Test("a leading slash of the name stays in the folder")
    func absoluteName() throws {
        let metadata = try UploadMetadata(field: field([("path", "/a"), ("filename", "/etc/passwd")]))
        #expect(try metadata.target { _ in true }.bytes == Array("a/etc/passwd".utf8))
    }

    @Test(
        "a malformed field is refused",
        arguments: [
            "filename !!!", "filename Y", "a YQ==,a YQ==", "a YQ== YQ==", "ä YQ==",
            String(repeating: "a", count: 20_000),
        ])
    func malformed(field: String) {
        #expect(throws: HTTPError.self) { try UploadMetadata(field: field) }
    }

    @Test("keys without value, empty members and blanks are fine")
    func lenient() throws {
        let metadata = try UploadMetadata(field: " is_private , filename YQ== ,")
        #expect(metadata["is_private"] == [])
        #expect(metadata.text("filename") == "a")
    }

    @Test("the time is milliseconds, or what can only be seconds; digits that overflow are refused")
    func times() throws {
        #expect(
            try UploadMetadata(field: field([("mtime", "1700000000.5")])).modified()
                == Timestamp(seconds: 1_700_000_000, nanoseconds: 500_000_000))
        #expect(
            try UploadMetadata(field: field([("lastModified", "1000")])).modified() == Timestamp(seconds: 1))
        #expect(
            try UploadMetadata(field: field([("lastModified", "-1500")])).modified()
                == Timestamp(seconds: -2, nanoseconds: 500_000_000))
        #expect(throws: HTTPError.self) { try UploadMetadata(field: field([("lastModified", "--1")])).modified() }
        #expect(
            try UploadMetadata(field: field([("mtime", "1700000000123.5")])).modified()
                == Timestamp(seconds: 1_700_000_000, nanoseconds: 123_500_000))
        // A time that no file system can store is valid, and ignored.
        #expect(try UploadMetadata(field: field([("mtime", "-99999999999999")])).modified() == nil)
        for refused in ["99999999999999999999", "1.", "1e3"] {
            #expect(throws: HTTPError.self) { try UploadMetadata(field: field([("mtime", refused)])).modified() }
        }
    }
}

@Suite("ChunkChecksum") struct ChunkChecksumTests {
    @Test(
        "the announced bytes are recognised",
        arguments: [
            "sha1 Kq5sNclPz7QV2+lfQIuc6R7oRu0=", "sha256 uU0nuZNNPgilLlLX2n2r+sSE7+N6U4DukIj3rOLvzek=",
            "crc32c yZRlqg==",
        ])
    func met(field: String) throws {
        var checksum = try ChunkChecksum(field: field)
        Array("hello ".utf8).withUnsafeBytes { checksum.update($0) }
        #expect(!checksum.isMet())
        Array("world".utf8).withUnsafeBytes { checksum.update($0) }
        #expect(checksum.isMet())
    }

    @Test(
        "other algorithms and malformed checksums are refused",
        arguments: ["md5 YQ==", "sha1", "sha1 YQ==", "", "crc32c !"])
    func refused(field: String) {
        #expect(throws: HTTPError.self) { try ChunkChecksum(field: field) }
    }
}
