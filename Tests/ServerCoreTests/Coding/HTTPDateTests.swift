import Testing

@testable import ServerCore

@Suite("HTTPDate")
struct HTTPDateTests {
    @Test(
        "All three forms are read",
        arguments: [
            "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
            " Sun, 06 Nov 1994 08:49:37 GMT ", "sun, 06 nov 1994 08:49:37 gmt",
        ])
    func reads(text: String) {
        #expect(HTTPDate.parse(text) == 784_111_777)
    }

    @Test(
        "What is no date is nil",
        arguments: [
            "", "Sun", "Sun,", "Sun, 06 Nov 1994", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 CET",
            "Sun, 31 Feb 1994 08:49:37 GMT", "Sun, 00 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 24:00:00 GMT",
            "Sun, 06 Nov 1994 08:60:37 GMT", "Sun, 06 Nov 99999999999999999999 08:49:37 GMT", "784111777",
            "Sun, -6 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 GMT, Mon", "Sun Nov  6 08:49:37",
            "Sun, 06 Növ 1994 08:49:37 GMT", String(repeating: "S", count: 100_000),
        ])
    func refuses(text: String) {
        #expect(HTTPDate.parse(text) == nil)
    }

    @Test("A two-digit year is never more than fifty years ahead")
    func century() {
        let in2026: Int64 = 1_780_000_000
        #expect(HTTPDate.parse("Sunday, 06-Nov-94 08:49:37 GMT", now: in2026) == 784_111_777)
        #expect(HTTPDate.parse("Friday, 01-Jan-27 00:00:00 GMT", now: in2026) == 1_798_761_600)
    }

    @Test(
        "What is written is read back",
        arguments: [
            0, 1, -1, 784_111_777, 951_782_400, 1_709_164_800, 4_102_444_800, HTTPDate.latest, HTTPDate.earliest,
        ])
    func roundTrip(seconds: Int64) {
        let text = HTTPDate.text(seconds)
        #expect(text.utf8.count == 29)
        #expect(HTTPDate.parse(text) == seconds)
    }

    @Test(
        "Known dates",
        arguments: [(784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"), (0, "Thu, 01 Jan 1970 00:00:00 GMT")])
    func writes(seconds: Int64, text: String) {
        #expect(HTTPDate.text(seconds) == text)
    }

    @Test("Times that a file may have but the format cannot say do no harm", arguments: [Int64.min, Int64.max])
    func extremes(seconds: Int64) {
        #expect(HTTPDate.text(seconds).utf8.count == 29)
    }
}
