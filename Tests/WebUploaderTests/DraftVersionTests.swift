import Testing

@testable import WebUploader

@Suite("DraftVersion") struct DraftVersionTests {
    @Test("the limits say what the version calls them")
    func limits() {
        #expect(DraftVersion(8).limits(maxSize: 5, secondsLeft: 60) == "max-size=5, max-age=60")
        #expect(DraftVersion(6).limits(maxSize: nil, secondsLeft: 60) == "expires=60")
        #expect(DraftVersion(8).limits(maxSize: nil, secondsLeft: nil) == "min-size=0")
    }
}
