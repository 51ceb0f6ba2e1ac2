import DirectoryRoot
import Testing

@testable import WebUploader

@Suite("ConflictRule") struct ConflictRuleTests {
    @Test(
        "the number stands before the extension",
        arguments: [
            ("a.txt", 1, "a (1).txt"), ("a.txt", 0, "a.txt"), ("dir.d/a", 2, "dir.d/a (2)"),
            (".hidden", 1, ".hidden (1)"),
            ("x.tar.gz", 3, "x (3).tar.gz"), (".tar.gz", 1, ".tar (1).gz"), ("a.", 1, "a (1)."),
            ("no.a very long ending of it", 1, "no.a very long ending of it (1)"),
        ])
    func numbered(path: String, number: Int, expected: String) throws {
        let numbered = try ConflictRule.numbered(SharePath(bytes: path.utf8), number)
        #expect(String(decoding: numbered.bytes, as: UTF8.self) == expected)
    }

    @Test("a name at the limit is cut between characters")
    func longName() throws {
        let name = String(repeating: "ü", count: 125) + ".txt"
        let numbered = try ConflictRule.numbered(SharePath(bytes: name.utf8), 10)
        #expect(numbered.bytes.count <= 255)
        #expect(UTF8Scan.isValid(numbered.bytes))
        #expect(String(decoding: numbered.bytes, as: UTF8.self).hasSuffix("ü (10).txt"))
    }
}

@Suite("DraftVersion") struct DraftVersionTests {
    @Test("the limits say what the version calls them")
    func limits() {
        #expect(DraftVersion(8).limits(maxSize: 5, secondsLeft: 60) == "max-size=5, max-age=60")
        #expect(DraftVersion(6).limits(maxSize: nil, secondsLeft: 60) == "expires=60")
        #expect(DraftVersion(8).limits(maxSize: nil, secondsLeft: nil) == "min-size=0")
    }
}

@Suite("NamePattern") struct NamePatternTests {
    @Test(
        "letters match whatever their case and accents",
        arguments: [
            ("abc", "xxABCxx", true), ("abc", "ab", false), ("ü", "GRÜN", true), ("straße", "STRASSE", false),
            ("a.b", "aXb", false), ("é", "cafe\u{301}.txt", true), ("zz", "zzz", true), ("日", "日本", true),
            ("cafe", "Café.txt", true), ("CAFÉ", "cafe.txt", true), ("ca", "C\u{327}A.txt", true),
            ("привет", "ПРИВЕТ", true),
            ("दुनिया", "नमस्ते दुनिया", true), ("한", "한글", true), ("글", "한글", true), ("ß", "SS", false),
        ])
    func matches(pattern: String, name: String, expected: Bool) {
        #expect(NamePattern(pattern)?.matches(Array(name.utf8)) == expected)
    }

    @Test("nothing to look for is no pattern", arguments: ["", "\u{301}"])
    func empty(text: String) { #expect(NamePattern(text) == nil) }

    @Test("names that are not UTF-8 are looked through") func notText() {
        #expect(NamePattern("af")?.matches(Array("caf".utf8) + [0xE9]) == true)
        #expect(NamePattern("x")?.matches([0xFF, 0xFE]) == false)
    }
}

@Suite("PageTemplate") struct PageTemplateTests {
    @Test("only slots are filled, and what fills them is not read again")
    func slots() {
        let template = PageTemplate(Array("a{{x}}{b}{{ y }}{{}}{{x}}c{{".utf8))
        var writer = TextWriter()
        template.write(to: &writer) { slot, writer in writer.raw("<{{x}}\(slot)>".utf8) }
        #expect(String(decoding: writer.take(), as: UTF8.self) == "a<{{x}}x>{b}{{ y }}{{}}<{{x}}x>c{{")
    }
}

@Suite("ReservedPlace") struct ReservedPlaceTests {
    @Test(
        "only whole components count",
        arguments: [
            (".shareserve", []), (".shareserve/info", ["info"]), (".shareserve/a/b", ["a", "b"]), (".shareserves", nil),
            ("a/.shareserve", nil), ("", nil),
        ] as [(String, [String]?)])
    func components(path: String, expected: [String]?) throws {
        #expect(ReservedPlace(try SharePath(bytes: path.utf8))?.components == expected)
    }
}
