import DirectoryRoot
import Testing

@testable import WebUploader

@Suite("ReservedPlace") struct ReservedPlaceTests {
    @Test(
        "only whole components count",
        arguments: [
            (".shareserve", []), (".shareserve/info", ["info"]), (".shareserve/a/b", ["a", "b"]), (".shareserves", nil),
            ("a/.shareserve", nil), ("", nil),
        ] as [(String, [String]?)])
    func components(path: String, expected: [String]?) throws {
        #expect(ReservedPlace(try SharePath(bytes: path.utf8))?.components == expected)
    }
}
