import Testing

@testable import WebDAV

@Suite("Writing XML")
struct XMLWriterTests {
    private func written(_ write: (inout XMLWriter) -> Void) -> String {
        var writer = XMLWriter(capacity: 1)
        write(&writer)
        return String(decoding: writer.take(), as: UTF8.self)
    }

    @Test(
        "Text comes out well-formed, whatever it is",
        arguments: [
            ("plain", "plain"), ("<a>&\"'", "&lt;a&gt;&amp;\"'"), ("tab\tand\nline\r", "tab\tand\nline&#13;"),
            ("caf\u{e9} \u{4e2d} \u{1F600}", "caf\u{e9} \u{4e2d} \u{1F600}"),
            ("\u{0}\u{1}\u{1F}", "\u{FFFD}\u{FFFD}\u{FFFD}"),
            ("\u{7F}", "\u{7F}"), ("\u{FFFE}", "\u{FFFD}\u{FFFD}\u{FFFD}"),
        ])
    func text(raw: String, expected: String) {
        #expect(written { $0.appendText(Array(raw.utf8)) } == expected)
    }

    @Test(
        "Bytes that are no UTF-8 become replacement characters",
        arguments: [
            [0xFF], [0xC0, 0x80], [0xC3], [0xE2, 0x82], [0xED, 0xA0, 0x80], [0xF5, 0x80, 0x80, 0x80], [0x80],
            [0xF0, 0x80, 0x80, 0x80], [0xF4, 0x90, 0x80, 0x80],
        ] as [[UInt8]])
    func invalid(raw: [UInt8]) {
        let text = written { $0.appendText(raw) }
        #expect(text.unicodeScalars.allSatisfy { $0 == "\u{FFFD}" })
        #expect(text.unicodeScalars.count == raw.count)
    }

    @Test("Paths are encoded byte by byte")
    func path() {
        let raw: [UInt8] = Array("a b/c&d<e>'\"%?#".utf8) + [0xFF, 0x0A]
        #expect(written { $0.appendPath(raw) } == "a%20b/c%26d%3Ce%3E'%22%25%3F%23%FF%0A")
    }

    @Test(
        "Numbers",
        arguments: [(0, "0"), (9, "9"), (10, "10"), (-5, "-5"), (.max, "\(Int64.max)"), (.min, "\(Int64.min)")]
            as [(Int64, String)])
    func number(value: Int64, expected: String) {
        #expect(written { $0.append(number: value) } == expected)
    }

    @Test(
        "Dates",
        arguments: [
            (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT", "1994-11-06T08:49:37Z"),
            (0, "Thu, 01 Jan 1970 00:00:00 GMT", "1970-01-01T00:00:00Z"),
            (-1, "Wed, 31 Dec 1969 23:59:59 GMT", "1969-12-31T23:59:59Z"),
            (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT", "2000-02-29T00:00:00Z"),
            (.max, "Fri, 31 Dec 9999 23:59:59 GMT", "9999-12-31T23:59:59Z"),
            (.min, "Sat, 01 Jan 0000 00:00:00 GMT", "0000-01-01T00:00:00Z"),
        ] as [(Int64, String, String)])
    func dates(seconds: Int64, http: String, internet: String) {
        var dates = XMLDates()
        #expect(written { dates.appendHTTP(seconds, to: &$0) } == http)
        #expect(written { dates.appendInternet(seconds, to: &$0) } == internet)
        // The same again, and another in between.
        #expect(written { dates.appendHTTP(seconds, to: &$0) } == http)
        #expect(written { dates.appendInternet(seconds, to: &$0) } == internet)
        #expect(written { dates.appendHTTP(1, to: &$0) } == "Thu, 01 Jan 1970 00:00:01 GMT")
        #expect(written { dates.appendInternet(1, to: &$0) } == "1970-01-01T00:00:01Z")
        #expect(written { dates.appendHTTP(seconds, to: &$0) } == http)
    }

    @Test("Growing keeps what was written")
    func growing() {
        let text = String(repeating: "0123456789", count: 1000)
        #expect(written { for _ in 0..<3 { $0.append(bytes: text.utf8) } } == text + text + text)
    }
}
