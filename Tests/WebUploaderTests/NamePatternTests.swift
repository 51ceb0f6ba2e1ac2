import Testing

@testable import WebUploader

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
