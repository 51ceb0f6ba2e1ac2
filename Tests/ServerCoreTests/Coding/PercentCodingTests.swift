import ServerCore
import Testing

@Suite("PercentCoding")
struct PercentCodingTests {
    @Test("Every byte comes back from a segment and from a path")
    func roundTrip() {
        let all = (UInt8.min...UInt8.max).map { $0 }
        #expect(PercentCoding.decode(PercentCoding.segment(all).utf8) == all)
        #expect(PercentCoding.decode(PercentCoding.path(all).utf8) == all)
        #expect(PercentCoding.segment(all).utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F })
    }

    @Test("Nothing that markup or a header treats as special stays")
    func harmless() {
        let text = PercentCoding.path(Array("a/<b>&\"'\r\n?#+;=%".utf8))
        #expect(text == "a/%3Cb%3E%26%22%27%0D%0A%3F%23%2B%3B%3D%25")
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
