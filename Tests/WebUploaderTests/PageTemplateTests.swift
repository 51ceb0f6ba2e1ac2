import Testing

@testable import WebUploader

@Suite("PageTemplate") struct PageTemplateTests {
    @Test("only slots are filled, and what fills them is not read again")
    func slots() {
        let template = PageTemplate(Array("a{{x}}{b}{{ y }}{{}}{{x}}c{{".utf8))
        var writer = TextWriter()
        template.write(to: &writer) { slot, writer in writer.raw("<{{x}}\(slot)>".utf8) }
        #expect(String(decoding: writer.take(), as: UTF8.self) == "a<{{x}}x>{b}{{ y }}{{}}<{{x}}x>c{{")
    }
}
