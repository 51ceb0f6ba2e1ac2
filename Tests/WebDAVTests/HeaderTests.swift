import DirectoryRoot
import ServerCore
import Testing

@testable import WebDAV

@Suite("The fields of WebDAV requests")
struct HeaderTests {
    @Test(
        "Depth reads what RFC 4918 §10.2 says, and Microsoft's noroot",
        arguments: [
            ("0", Depth.zero), ("1", .one), ("infinity", .infinity), ("Infinity", .infinity), (" 1 ", .one),
            ("1,noroot", Depth(reach: .one, leavesOutTarget: true)),
            ("infinity, noroot", Depth(reach: .infinity, leavesOutTarget: true)),
        ])
    func depth(text: String, expected: Depth) throws {
        #expect(try Depth(header: text) == expected)
    }

    @Test(
        "Depth refuses everything else",
        arguments: ["", "2", "-1", "0,noroot", "1,2", "1,noroot,noroot", "inf", "0, 1"])
    func badDepth(text: String) {
        #expect(throws: HTTPError.self) { try Depth(header: text) }
    }

    @Test("Overwrite is T when missing, and nothing but T and F")
    func overwrite() throws {
        #expect(try Overwrite(header: nil).isAllowed)
        #expect(try Overwrite(header: "T").isAllowed)
        #expect(try !Overwrite(header: "F").isAllowed)
        #expect(throws: HTTPError.self) { try Overwrite(header: "maybe") }
        #expect(throws: HTTPError.self) { try Overwrite(header: "") }
    }

    @Test(
        "Timeout takes the first wish that it can read",
        arguments: [
            ("Second-600", 600), ("Infinite", Timeout.longest), ("Infinite, Second-4100000000", Timeout.longest),
            ("Second-4100000000, Infinite", 4_100_000_000), ("Second-99999999999999999999999", Timeout.longest),
            ("Extend, Second-5", 5), ("second-7", 7), ("Second-0", 0),
        ] as [(String, Int64)])
    func timeout(text: String, seconds: Int64) {
        #expect(Timeout(header: text).duration == .seconds(seconds))
    }

    @Test("Timeout ignores what it cannot read", arguments: ["", "Second-", "Second--1", "forever", "Second-1x", ","])
    func noTimeout(text: String) {
        #expect(Timeout(header: text).duration == nil)
    }

    @Test("Lock-Token reads a coded URL, and Windows' without brackets")
    func lockToken() throws {
        let token = LockToken(uri: "urn:uuid:1234")
        #expect(try LockTokenHeader(header: "<urn:uuid:1234>").token == token)
        #expect(try LockTokenHeader(header: "urn:uuid:1234").token == token)
        for bad in [nil, "", "<>", "<urn:uuid:1", "no colon", "<a b:c>", "<urn:x><urn:y>"] as [String?] {
            #expect(throws: HTTPError.self) { try LockTokenHeader(header: bad) }
        }
    }

    @Test("Prefer finds return=minimal and depth-noroot among others")
    func prefer() {
        #expect(Prefer(header: "return=minimal").isMinimal)
        #expect(Prefer(header: "respond-async, return=\"minimal\"; foo=1").isMinimal)
        #expect(Prefer(header: "depth-noroot, return=representation").leavesOutTarget)
        #expect(!Prefer(header: "return=representation").isMinimal)
    }

    @Test(
        "X-OC-Mtime reads seconds with decimals",
        arguments: [
            ("1700000000", 1_700_000_000, 0), ("1700000000.5", 1_700_000_000, 500_000_000), ("0", 0, 0),
            ("-1.25", -2, 750_000_000), ("1.0000000019", 1, 1),
        ] as [(String, Int64, Int32)])
    func mtime(text: String, seconds: Int64, nanoseconds: Int32) throws {
        #expect(try ModificationTime.ocMtime(text)?.time == Timestamp(seconds: seconds, nanoseconds: nanoseconds))
    }

    @Test(
        "X-OC-Mtime refuses what is no number of seconds",
        arguments: ["", "-", ".5", "1.", "1e9", "0x10", "99999999999999999999", "1.2.3", "NaN"])
    func badMtime(text: String) {
        #expect(throws: HTTPError.self) { try ModificationTime.ocMtime(text) }
    }

    @Test("X-OC-Mtime leaves out what no file system keeps", arguments: ["15032385536", "-2147483649", "99999999999"])
    func farMtime(text: String) throws {
        #expect(try ModificationTime.ocMtime(text) == nil)
    }

    @Test("X-Update-Range and Content-Range name the bytes to replace")
    func updateRange() throws {
        #expect(try UpdateRange(updateRange: "append") == .append)
        #expect(try UpdateRange(updateRange: "bytes=3-6") == .from(first: 3, last: 6))
        #expect(try UpdateRange(updateRange: "bytes=3-") == .from(first: 3, last: nil))
        #expect(try UpdateRange(updateRange: "bytes=-4") == .suffix(4))
        #expect(try UpdateRange(contentRange: "bytes 0-9/20") == .from(first: 0, last: 9, whole: 20))
        #expect(try UpdateRange(contentRange: "bytes 0-9/*") == .from(first: 0, last: 9))
        for bad in [
            "", "bytes=", "bytes=-", "bytes=6-3", "bytes=a-b", "bytes=-0", "bytes=0-9223372036854775807", "3-6",
        ] {
            #expect(throws: HTTPError.self) { try UpdateRange(updateRange: bad) }
        }
        for bad in ["bytes 0-9/5", "bytes */5", "bytes 0-9", "bytes=0-9/20", ""] {
            #expect(throws: HTTPError.self) { try UpdateRange(contentRange: bad) }
        }
    }

    @Test("Digests are checked when known, and refused when malformed")
    func digests() throws {
        var digests = try UploadDigests(
            reprDigest: "unknown=:AAAA:, sha-256=:LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=:", contentDigest: nil,
            ocChecksum:
                "SHA1:aaf4c61ddcc5e8a2dabede0f3b482cd9aea9434d MD5:5d41402abc4b2a76b9719d911017c592 ADLER32:062c0215")
        digests.update(Array("hello".utf8))
        try digests.check()
        digests.update([0])
        #expect(throws: HTTPError.self) { try digests.check() }
        for bad in ["sha-256=abc", "sha-256=:AAAA:", "sha-256", "sha-256=:!:"] {
            #expect(throws: HTTPError.self) { try UploadDigests(reprDigest: bad, contentDigest: nil, ocChecksum: nil) }
        }
        #expect(throws: HTTPError.self) {
            try UploadDigests(reprDigest: nil, contentDigest: nil, ocChecksum: "MD5:xyz")
        }
    }
}
