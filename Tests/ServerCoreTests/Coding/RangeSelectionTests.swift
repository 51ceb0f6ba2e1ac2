import ServerCore
import Testing

@Suite("RangeSelection")
struct RangeSelectionTests {
    static let served: [(String, Int64, [Range<Int64>])] = [
        ("bytes=0-0", 10, [0..<1]), ("bytes=0-", 10, [0..<10]), ("bytes=-3", 10, [7..<10]), ("bytes=-30", 10, [0..<10]),
        ("bytes=5-100", 10, [5..<10]), ("BYTES=1-2", 10, [1..<3]), ("bytes= 1-2 , 4-5 ", 10, [1..<3, 4..<6]),
        ("bytes=8-9,0-1", 10, [8..<10, 0..<2]), ("bytes=0-1,20-30", 10, [0..<2]), ("bytes=,,0-1,", 10, [0..<2]),
        ("bytes=0-9223372036854775807", 10, [0..<10]), ("bytes=0-99999999999999999999999", 10, [0..<10]),
        ("bytes=-9223372036854775808", 10, [0..<10]), ("bytes=0-9223372036854775807", Int64.max, [0..<Int64.max]),
        ("bytes=0-5,3-8", 10, [0..<9]), ("bytes=0-4,5-9", 10, [0..<10]), ("bytes=00-01", 10, [0..<2]),
    ]

    @Test("Spans are clipped to the size, merged where they overlap", arguments: served)
    func spans(field: String, size: Int64, spans: [Range<Int64>]) {
        #expect(RangeSelection(field: field, size: size) == .spans(spans))
    }

    @Test(
        "What is malformed is ignored",
        arguments: [
            "", "bytes", "bytes=", "bytes=-", "bytes=a-b", "bytes=5-2", "bytes=--5", "bytes=+1-2", "bytes=1-2-3",
            "bytes=0x1-2", "items=0-1", "bytes=1 - 2", "bytes=0-1;2-3", "bytes=0-1, bytes=3-4", "bytes=½-1", "0-1",
        ])
    func ignored(field: String) {
        #expect(RangeSelection(field: field, size: 10) == .whole)
    }

    @Test(
        "What begins past the end is unsatisfiable",
        arguments: [
            ("bytes=10-", 10), ("bytes=10-20", 10), ("bytes=-0", 10), ("bytes=0-0", 0),
            ("bytes=9223372036854775807-", 10), ("bytes=99999999999999999999-99999999999999999999", 10),
            ("bytes=10-,20-", 10),
        ] as [(String, Int64)])
    func unsatisfiable(field: String, size: Int64) {
        #expect(RangeSelection(field: field, size: size) == .unsatisfiable)
    }

    @Test("A thousand overlapping spans are one answer")
    func overlapping() {
        let field = "bytes=" + (0..<1300).map { "\($0)-" }.joined(separator: ",")
        #expect(RangeSelection(field: field, size: 10_000) == .whole)
        let few = "bytes=" + (0..<60).map { "\($0)-" }.joined(separator: ",")
        #expect(RangeSelection(field: few, size: 10_000) == .spans([0..<10_000]))
    }

    @Test("All of an empty file, and its end, are the empty file")
    func emptyFile() {
        #expect(RangeSelection(field: "bytes=-5", size: 0) == .whole)
        #expect(RangeSelection(field: "bytes=0-", size: 0) == .whole)
        #expect(RangeSelection(field: "bytes=1-", size: 0) == .unsatisfiable)
    }
}
