import Testing

@testable import ServerCore

@Suite("MultipartParser")
struct MultipartParserTests {
    private static let type = "multipart/form-data; boundary=XX"

    /// The parts of a body, each with its content joined: `name/filename/type=content`.
    private func parse(
        _ body: [UInt8], piece: Int, type: String = Self.type, limits: MultipartParser.Limits = .init()
    ) throws -> [String] {
        var parser = try MultipartParser(contentType: type, limits: limits)
        var result: [String] = []
        var content: [UInt8] = []
        var rest = body[...]
        while !rest.isEmpty {
            for event in try parser.feed(Array(rest.prefix(piece))) {
                switch event {
                case .part(let part):
                    let name = String(decoding: part.name, as: UTF8.self)
                    let file = part.filename.map { String(decoding: $0, as: UTF8.self) } ?? "-"
                    result.append("\(name)/\(file)/\(part.mediaType ?? "-")=")
                    content = []
                case .data(let bytes):
                    #expect(!bytes.isEmpty)
                    content += bytes
                case .partEnd: result[result.count - 1] += String(decoding: content, as: UTF8.self)
                }
            }
            rest = rest.dropFirst(piece)
        }
        try parser.finish()
        return result
    }

    private static func body(_ lines: String...) -> [UInt8] { Array(lines.joined(separator: "\r\n").utf8) }

    static let twoParts = body(
        "preamble", "--XX", "Content-Disposition: form-data; name=\"a\"", "", "1", "--XX \t",
        "content-disposition: form-data; name=\"f\"; filename=\"b.txt\"", "Content-Type: text/plain", "",
        "x\r\n--X\r\n--\r\r\n-\rXX\r\n--XXY\r\n--XX-\r\n--XX \r.", "--XX--", "epilogue --XX")

    @Test("The same comes out however the packets cut it", arguments: 1...80)
    func cuts(piece: Int) throws {
        let expected = ["a/-/-=1", "f/b.txt/text/plain=x\r\n--X\r\n--\r\r\n-\rXX\r\n--XXY\r\n--XX-\r\n--XX \r."]
        #expect(try parse(Self.twoParts, piece: piece) == expected)
    }

    @Test("Empty parts, and no parts, are forms too", arguments: [1, 1000])
    func empty(piece: Int) throws {
        let empty = Self.body("--XX", "Content-Disposition: form-data; name=a; filename=\"\"", "", "", "--XX--")
        #expect(try parse(empty, piece: piece) == ["a//-="])
        let headless = Self.body("--XX", "", "hi", "--XX--")
        #expect(try parse(headless, piece: piece) == ["/-/-=hi"])
        #expect(try parse(Self.body("--XX--", ""), piece: piece) == [])
    }

    static let names: [(String, String)] = [
        ("filename=\"a b.txt\"", "a b.txt"), ("filename=a.txt", "a.txt"), ("filename=\"a\\\"b\"", "a\"b"),
        ("filename=\"a\\\\b\"", "a\\b"), ("filename=\"C:\\dir\\file.txt\"", "C:\\dir\\file.txt"),
        ("filename=\"a%22b%0D%0A%41\"", "a\"b\r\n%41"), ("filename=\"dir/ä.txt\"", "dir/ä.txt"),
        ("filename=\"a\"; filename*=UTF-8''%c3%a4", "ä"), ("filename*=iso-8859-1'de'%E4; filename=b", "ä"),
        ("filename*=klingon''x; filename=b", "b"), ("filename*=UTF-8''%zz; filename=b", "b"),
        ("filename=\"a;b=c\"", "a;b=c"),
        ("FILENAME=\"A\"", "A"), ("filename = \"a\"", "a"), ("filename=\"a", "a"), ("filename=\"a\\\"", "a\\"),
        ("filename=\"../../etc/passwd\"", "../../etc/passwd"), ("filename=\"\0\"", "\0"),
    ]

    @Test("A file's name comes as the client meant it", arguments: names)
    func filenames(parameter: String, name: String) throws {
        let body = Self.body("--XX", "Content-Disposition: form-data; name=\"f\"; \(parameter)", "", "1", "--XX--")
        #expect(try parse(body, piece: 1000) == ["f/\(name)/-=1"])
    }

    static let broken: [[UInt8]] = [
        body(""), body("--XX"), body("--XX", "A: b", "", "content"), body("--XX", "A: b"),
        body("--XX", "no colon", "", "--XX--"), body("--XX", ": b", "", "--XX--"), body("--XX", "A b: c", "", "--XX--"),
        body("--XX", " folded: x", "", "--XX--"), Array("--XX\nA: b\n\n1\n--XX--".utf8), body("--XX-", "", ""),
        body("--XX", "A: b\n", "", "--XX--"), Array(repeating: 0x0D, count: 1000),
    ]

    @Test("A malformed or unfinished form is refused", arguments: broken, [1, 1000])
    func malformed(body: [UInt8], piece: Int) {
        #expect(throws: HTTPError.self) { try parse(body, piece: piece) }
    }

    @Test("Every truncation is refused")
    func truncated() {
        let end = Self.twoParts.count - "--\r\nepilogue --XX".utf8.count + 2
        for count in 0..<end {
            #expect(throws: HTTPError.self) { try parse(Array(Self.twoParts[..<count]), piece: 7) }
        }
    }

    @Test("The limits hold")
    func limits() {
        let long = Self.body("--XX", "A: " + String(repeating: "b", count: 20_000), "", "", "--XX--")
        #expect(throws: HTTPError.self) { try parse(long, piece: 100) }
        #expect(throws: HTTPError.self) { try parse(long, piece: 100_000) }
        var limits = MultipartParser.Limits()
        limits.parts = 2
        let three = Self.body("--XX", "", "", "--XX", "", "", "--XX", "", "", "--XX--")
        #expect(throws: HTTPError.self) { try parse(three, piece: 100, limits: limits) }
        let preamble = [UInt8](repeating: 0x20, count: 100_000)
        #expect(throws: HTTPError.self) { try parse(preamble, piece: 100) }
    }

    @Test(
        "Another type, or a bad boundary, is refused at once",
        arguments: [
            "text/plain", "multipart/form-data", "multipart/form-data; boundary=", "multipart/form-data; boundary=\"\"",
            "multipart/mixed; boundary=XX", "multipart/form-data; boundary=\"a \"", "",
            "multipart/form-data; boundary=" + String(repeating: "x", count: 201),
        ])
    func types(type: String) {
        #expect(throws: HTTPError.self) { try MultipartParser(contentType: type) }
    }

    @Test("A quoted boundary with odd characters works")
    func quotedBoundary() throws {
        let body = Self.body("--a:b?c'd e/f", "Content-Disposition: form-data; name=n", "", "v", "--a:b?c'd e/f--")
        #expect(
            try parse(body, piece: 3, type: "Multipart/Form-Data; charset=utf-8; boundary=\"a:b?c'd e/f\"") == [
                "n/-/-=v"
            ])
    }

    @Test("Random bytes never trap")
    func random() {
        var generator = Seeded(state: 0x5EED)
        let alphabet = Array("\r\n-X:; =\"ab".utf8)
        for _ in 0..<2000 {
            let body = (0..<60).map { _ in alphabet.randomElement(using: &generator) ?? 0 }
            _ = try? parse(Array("--XX".utf8) + body, piece: 5)
        }
    }
}
