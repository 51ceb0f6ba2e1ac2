import TestSupport
import Testing

@testable import DirectoryRoot

@Suite("arrivals") struct ArrivalsTests {
    private func key(_ bringer: String, _ number: Int) throws -> Arrivals.Key {
        Arrivals.Key(bringer: bringer, isUser: true, path: try SharePath(text: "/\(number)"))
    }

    @Test("who brings very much pushes out nobody else's, and what is filled goes first") func room() throws {
        let fixture = try Fixture()
        try fixture.put("/empty", "")
        try fixture.put("/full", "x")
        let empty = try fixture.share.attributes(of: SharePath(text: "/empty"))
        let full = try fixture.share.attributes(of: SharePath(text: "/full"))
        let arrivals = Arrivals(clock: .system)
        arrivals.note(empty, by: try key("few", 0))
        arrivals.note(empty, by: try key("many", 0))
        for number in 1..<Arrivals.limit { arrivals.note(full, by: try key("many", number)) }
        #expect(arrivals.has(empty, by: try key("few", 0)))
        #expect(arrivals.has(empty, by: try key("many", 0)))
        #expect(!arrivals.has(full, by: try key("many", 1)))
        #expect(arrivals.has(full, by: try key("many", Arrivals.limit - 1)))
    }
}
