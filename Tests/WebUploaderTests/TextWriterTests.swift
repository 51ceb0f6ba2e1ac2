import DirectoryRoot
import Testing

@testable import WebUploader

@Suite("TextWriter") struct TextWriterTests {
    private func written(_ write: (inout TextWriter) -> Void) -> String {
        var writer = TextWriter()
        write(&writer)
        return String(decoding: writer.take(), as: UTF8.self)
    }

    @Test(
        "a JSON string says the bytes, and nothing in it ends a script element",
        arguments: [
            ("plain.txt", #""plain.txt""#), ("a\"b\\c", #""a\"b\\c""#), ("</script>", #""\u003c/script\u003e""#),
            ("&amp;", #""\u0026amp;""#), ("line\nfeed\r\t\u{1}\u{7F}", #""line\nfeed\r\t\u0001\u007f""#),
            ("Größe 日本 🎉", #""Größe 日本 🎉""#), ("", #""""#),
        ])
    func json(text: String, expected: String) {
        let fromText = written { $0.json(text) }
        #expect(fromText == expected)
        var writer = TextWriter()
        let isExact = writer.json(Array(text.utf8))
        #expect(isExact)
        #expect(writer.bytes.elementsEqual(expected.utf8))
    }

    @Test(
        "bytes that are not UTF-8 become U+FFFD and are told",
        arguments: [
            ([0xE9], "\u{FFFD}"), ([0x61, 0xC3], "a\u{FFFD}"), ([0xC0, 0xAF], "\u{FFFD}\u{FFFD}"),
            ([0xED, 0xA0, 0x80], "\u{FFFD}\u{FFFD}\u{FFFD}"),
            ([0xF4, 0x90, 0x80, 0x80], "\u{FFFD}\u{FFFD}\u{FFFD}\u{FFFD}"),
            ([0xE2, 0x82], "\u{FFFD}\u{FFFD}"),
        ] as [([UInt8], String)])
    func notUTF8(bytes: [UInt8], expected: String) {
        var writer = TextWriter()
        let isExact = writer.json(bytes)
        #expect(!isExact)
        #expect(String(decoding: writer.take(), as: UTF8.self) == "\"" + expected + "\"")
    }

    @Test(
        "markup and reading-direction marks in a name are text",
        arguments: [
            ("<img src=x onerror=alert(1)>", "&lt;img src=x onerror=alert(1)&gt;"), ("\"'&", "&quot;&#39;&amp;"),
            ("exe.\u{202E}gpj", "exe.\u{FFFD}gpj"),
            ("a\u{2066}b\u{200F}c\u{61C}d\u{85}e\u{1B}f", "a\u{FFFD}b\u{FFFD}c\u{FFFD}d\u{FFFD}e\u{FFFD}f"),
            ("äöü 漢字", "äöü 漢字"),
        ])
    func html(text: String, expected: String) {
        let html = written { $0.html(text) }
        #expect(html == expected)
    }

    @Test(
        "numbers",
        arguments: [(0, "0"), (7, "7"), (-12, "-12"), (Int64.min, "-9223372036854775808")] as [(Int64, String)])
    func integer(value: Int64, expected: String) {
        let text = written { $0.integer(value) }
        #expect(text == expected)
    }

    @Test(
        "sizes for people",
        arguments: [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (4_700_000, "4.7 MB"), (.max, "9.2 EB")]
            as [(Int64, String)])
    func size(value: Int64, expected: String) {
        let text = written { $0.size(value) }
        #expect(text == expected)
    }

    @Test(
        "times as a UTC calendar",
        arguments: [
            (0, "1970-01-01 00:00"), (951_782_399, "2000-02-28 23:59"), (951_782_400, "2000-02-29 00:00"),
            (-1, "1969-12-31 23:59"), (4_107_542_400, "2100-03-01 00:00"), (1_700_000_000, "2023-11-14 22:13"),
        ] as [(Int64, String)])
    func calendar(seconds: Int64, expected: String) {
        let text = written { $0.calendar(CalendarTime(seconds: seconds)) }
        #expect(text == expected)
    }

    @Test("a moment at the ends of the number line is written too", arguments: [Int64.min, .max])
    func farTime(seconds: Int64) {
        _ = written { $0.calendar(CalendarTime(seconds: seconds)) }
        let moment = Timestamp(seconds: seconds, nanoseconds: 999_999_999)
        #expect(moment.milliseconds.magnitude <= 8_640_000_000_000_000, "a browser's dates end there")
    }
}
