import DirectoryRoot
import ServerCore
import Testing

@Suite("ResponseFields")
struct ResponseFieldsTests {
    @Test("A line is found by its name in any case, and setting replaces all of that name in place")
    func replaces() {
        var fields: ResponseFields = ["Vary": "Accept", "ETag": "\"a\"", "vary": "Origin"]
        #expect(fields["VARY"] == "Accept")
        fields["Vary"] = "Cookie"
        #expect(fields.lines.map(\.name) == ["Vary", "ETag"])
        #expect(fields["vary"] == "Cookie")
        fields["vary"] = nil
        #expect(!fields.contains("Vary"))
    }

    @Test(
        "A line that a field cannot carry is left out",
        arguments: [
            ("Location", "/a\r\nSet-Cookie: x=1"), ("Location", "/a\nb"), ("X", "a\0b"), ("X", "\u{7F}"),
            ("X", "\u{1B}[2J"),
            ("", "a"), ("A B", "a"), ("A:", "a"), ("A\r\nB", "a"), ("Ä", "a"),
        ])
    func splitting(name: String, value: String) {
        var fields: ResponseFields = [:]
        fields.add(name, value)
        fields[name] = value
        #expect(fields.lines.isEmpty)
    }

    @Test("A list member is merged once")
    func merges() {
        var fields: ResponseFields = [:]
        fields.merge("Vary", "Accept")
        fields.merge("Vary", "Accept-Encoding")
        fields.merge("Vary", "accept")
        #expect(fields["Vary"] == "Accept, Accept-Encoding")
    }
}

@Suite("HTTPError")
struct HTTPErrorTests {
    static let table: [(RootError, Int)] = [
        (.notFound, 404), (.exists, 409), (.parentMissing, 409), (.isDirectory, 409), (.notDirectory, 409),
        (.invalidName, 400), (.forbidden, 403), (.readOnly, 403), (.locked([]), 423), (.preconditionFailed, 412),
        (.selfReference, 403), (.noSpace, 507), (.tooLarge, 413), (.overLimit(1), 413), (.tooMany, 503),
        (.busy, 503), (.changedMeanwhile, 503), (.takenOver, 503), (.collectionTooLarge, 507),
        (.tooManyProperties, 507),
        (.wouldBlock, 503), (.unknownToken, 404), (.system(errno: 5, call: "renameat"), 500),
        (.endingRefused(allowed: ["jpg"]), 403),
    ]

    @Test("Each fact about files has its status", arguments: table)
    func statuses(error: RootError, code: Int) {
        let refusal = HTTPError(error)
        #expect(refusal.status.code == code)
        #expect(!refusal.message.contains("renameat"))
        #expect(!refusal.status.reason.isEmpty)
    }

    @Test("The answer is plain text with the error's own fields")
    func response() {
        let answer = Response(HTTPError(.serviceUnavailable, "Later.", fields: ["Retry-After": "5"]))
        #expect(answer.fields["Content-Type"] == "text/plain; charset=utf-8")
        #expect(answer.fields["Retry-After"] == "5")
        guard case .bytes(let bytes) = answer.body else {
            Issue.record("no text")
            return
        }
        #expect(bytes == Array("Later.\n".utf8))
    }
}
