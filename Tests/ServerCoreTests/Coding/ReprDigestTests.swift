import ServerCore
import Testing

@Suite("ReprDigest")
struct ReprDigestTests {
    /// RFC 9530 Appendix B.1: `{"hello": "world"}` and a line feed.
    static let body = Array("{\"hello\": \"world\"}\n".utf8)
    static let sha256 = "sha-256=:RK/0qy18MlBSVnWgjwz6lZEWjP/lF5HF9bvEF8FabDg=:"

    private func digest(_ algorithm: DigestAlgorithm) -> ReprDigest {
        var digester = Digester(algorithm)
        digester.update(Array(Self.body.prefix(3)))
        digester.update(Array(Self.body.dropFirst(3)))
        return ReprDigest(algorithm, digester.finish())
    }

    @Test("The RFC's own example")
    func example() throws {
        #expect(digest(.sha256).text == Self.sha256)
        #expect(try ReprDigest(field: Self.sha256) == digest(.sha256))
        let sha512 = digest(.sha512).text
        #expect(
            sha512
                == "sha-512=:YMAam51Jz/jOATT6/zvHrLVgOYTGFy1d6GJiOHTohq4yP+pgk4vf2aCsyRZOtw8MjkM7iw7yZ/WkppmM44T3qg==:")
    }

    @Test("Every algorithm reads back what it writes", arguments: DigestAlgorithm.allCases)
    func roundTrip(algorithm: DigestAlgorithm) throws {
        #expect(try ReprDigest(field: "unknown=:AAAA:, " + digest(algorithm).text) == digest(algorithm))
    }

    @Test("Parameters of a member are read over", arguments: [";a=1", " ; a;b=?0", ";q=\"x\""])
    func parameters(parameter: String) throws {
        #expect(try ReprDigest(field: Self.sha256 + parameter) == digest(.sha256))
        #expect(try ReprDigest(field: "x=1" + parameter + ", " + Self.sha256) == digest(.sha256))
        #expect(ReprDigest.wanted(field: "sha-256=1" + parameter + ", sha-512=0") == .sha256)
    }

    @Test(
        "A malformed digest is refused",
        arguments: [
            "sha-256=abc", "sha-256=::", "sha-256=:RK/0:", "sha-256", "sha-256=:", "sha-256=:****:", "SHA-256=:a=b:",
            "sha-512=:RK/0qy18MlBSVnWgjwz6lZEWjP/lF5HF9bvEF8FabDg=:",
        ])
    func malformed(field: String) {
        #expect(throws: HTTPError.self) { try ReprDigest(field: field) }
    }

    @Test(
        "The best known wish counts",
        arguments: [
            ("sha-256=1", DigestAlgorithm.sha256), ("sha-256=3, sha-512=10", .sha512),
            ("sha-512=0, sha-256=1", .sha256),
            ("md5=5", .md5), ("unixsum=10", nil), ("", nil), ("sha-256", nil), ("sha-256=99999999999999999999", nil),
        ])
    func wanted(field: String, expected: DigestAlgorithm?) {
        #expect(ReprDigest.wanted(field: field) == expected)
    }

    @Test("Base64 reads back every length and refuses what is not")
    func base64() {
        for count in 0..<70 {
            let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 * 37) }
            #expect(Base64.decode(Base64.encode(bytes).utf8) == bytes)
        }
        for text in ["a", "a===", "ab=c", "a b=", "%%%%", "abcde"] { #expect(Base64.decode(text.utf8) == nil) }
        #expect(Base64.encode("foob".utf8) == "Zm9vYg==")
        #expect(Base64.decode("Zm9vYg".utf8) == Array("foob".utf8))
    }
}
