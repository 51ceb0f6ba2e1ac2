import ServerCore
import Testing

@Suite("TameText")
struct TameTextTests {
    /// Two kinds of marks, so that their order matters.
    private static func marks(_ count: Int) -> String {
        String(String.UnicodeScalarView((0..<count).map { $0 % 2 == 0 ? "\u{300}" : "\u{316}" }))
    }

    @Test(
        "What people write stays as it is",
        arguments: ["", "plain", "Ünï", "\u{301}", "日本語", "e" + marks(127), "\u{344}"]
    )
    func ordinary(text: String) {
        #expect(TameText.isTame(text))
        #expect(TameText.text(text.utf8).utf8.elementsEqual(text.utf8))
        let many = Array(repeating: text, count: 400).joined(separator: "/")
        #expect(TameText.text(many.utf8).utf8.elementsEqual(many.utf8))
    }

    @Test(
        "More marks on a letter than a file's name has room for are read byte by byte",
        arguments: [marks(129), "e" + marks(20_000) + "e", String(repeating: "\u{F73}", count: 200)])
    func wild(text: String) {
        #expect(!TameText.isTame(text))
        let read = [TameText.text(text.utf8), RequestHead.text(Array(text.utf8)[...])]
        for read in read {
            #expect(read.unicodeScalars.elementsEqual(text.utf8.map { Unicode.Scalar($0) }))
        }
    }
}
