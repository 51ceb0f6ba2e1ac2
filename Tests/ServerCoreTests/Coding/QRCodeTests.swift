import ServerCore
import Testing

@Suite("A text as a QR code")
struct QRCodeTests {
    @Test(
        "A longer text makes a larger code, up to version 13",
        arguments: [(1, 21), (14, 21), (15, 25), (150, 49), (331, 69)])
    func size(bytes: Int, modules: Int) throws {
        let code = try #require(QRCode(String(repeating: "a", count: bytes)))
        #expect(code.modules.count == modules)
        #expect(code.modules.allSatisfy { $0.count == modules })
    }

    @Test("A text that does not fit makes none") func tooLong() {
        #expect(QRCode(String(repeating: "a", count: 332)) == nil)
    }

    @Test("Finders and timing stand where readers look for them") func patterns() throws {
        let modules = try #require(QRCode("http://192.168.1.20:8080/")).modules
        let last = modules.count - 7
        for (top, left) in [(0, 0), (0, last), (last, 0)] {
            #expect(modules[top][left..<(left + 7)].allSatisfy { $0 })
            #expect(Array(modules[top + 3][left..<(left + 7)]) == [true, false, true, true, true, false, true])
        }
        for index in 8..<(modules.count - 8) { #expect(modules[6][index] == (index % 2 == 0)) }
    }

    @Test("A terminal shows two rows a line, light around") func terminal() throws {
        let code = try #require(QRCode("a"))
        let lines = code.terminal.split(separator: "\n")
        #expect(lines.count == 13)
        #expect(lines.allSatisfy { $0.count == 25 })
        #expect(lines[0].allSatisfy { $0 == "█" })
    }
}
