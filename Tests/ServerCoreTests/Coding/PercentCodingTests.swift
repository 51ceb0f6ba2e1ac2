import DirectoryRoot
import ServerCore
import Testing

@Suite("PercentCoding")
struct PercentCodingTests {
    @Test(
        "Every byte comes back, whichever characters stay as they are",
        arguments: [URICharacters.unreserved, .unreservedPath, .plainPath, .path])
    func roundTrip(kept: URICharacters) {
        let all = (UInt8.min...UInt8.max).map { $0 }
        #expect(PercentCoding.decode(kept.text(all).utf8) == all)
    }

    @Test("A broken escape is refused", arguments: ["%", "%4", "a%", "%zz", "%4g", "%%41", "%-1"])
    func broken(text: String) {
        #expect(PercentCoding.decode(text.utf8) == nil)
    }

    @Test("Decoding happens once")
    func once() {
        #expect(PercentCoding.decode("%252e".utf8) == Array("%2e".utf8))
    }

    @Test("Forms are decoded leniently")
    func forms() {
        let fields = PercentCoding.formFields("a=1+2&b=%41%zz&c&=d&&e=f=g".utf8)
        let pairs = fields.map {
            String(decoding: $0.name, as: UTF8.self) + ":" + String(decoding: $0.value, as: UTF8.self)
        }
        #expect(pairs == ["a:1 2", "b:A%zz", "c:", ":d", "e:f=g"])
    }

    @Test("The number of fields is bounded")
    func bounded() {
        let text = String(repeating: "a=b&", count: 1000)
        #expect(PercentCoding.formFields(text.utf8, limit: 10).count == 10)
    }
}
