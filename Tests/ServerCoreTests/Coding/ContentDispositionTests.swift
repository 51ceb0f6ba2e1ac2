import ServerCore
import Testing

@Suite("ContentDisposition")
struct ContentDispositionTests {
    static let names: [(String, String)] = [
        ("a.txt", "attachment; filename=\"a.txt\""),
        ("a b;c.txt", "attachment; filename=\"a b;c.txt\""),
        ("ä.txt", "attachment; filename=\"_.txt\"; filename*=UTF-8''%C3%A4.txt"),
        ("a\"b\\c%41.txt", "attachment; filename=\"a_b_c_41.txt\"; filename*=UTF-8''a%22b%5Cc%2541.txt"),
        ("a\r\nSet-Cookie: x.txt", "attachment; filename=\"a__Set-Cookie: x.txt\""),
        ("\u{202E}gpj.exe", "attachment; filename=\"_gpj.exe\""),
        ("\u{1B}[31m", "attachment; filename=\"_[31m\""),
        ("日本.txt", "attachment; filename=\"__.txt\"; filename*=UTF-8''%E6%97%A5%E6%9C%AC.txt"),
    ]

    @Test("A name is harmless in the field and true where clients read it", arguments: names)
    func fields(name: String, field: String) {
        #expect(ContentDisposition.attachment(filename: Array(name.utf8)) == field)
    }

    @Test("Any bytes make an ASCII field without controls")
    func anything() {
        let field = ContentDisposition.attachment(filename: (UInt8.min...UInt8.max).map { $0 })
        #expect(field.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F })
        #expect(field.filter { $0 == "\"" }.count == 2)
    }
}
