import Testing

@testable import ServerCore

@Suite("Count of HTTP/2 frames") struct HTTP2FrameCountTests {
    private let preface = [UInt8](repeating: 80, count: 24)

    private func frame(_ type: UInt8, _ length: Int) -> [UInt8] {
        [0, UInt8(length >> 8), UInt8(length & 255), type, 0, 0, 0, 0, 1] + [UInt8](repeating: 1, count: length)
    }

    private func count(_ frames: [UInt8], cut: Int = .max) -> HTTP2FrameCount {
        var count = HTTP2FrameCount()
        let bytes = preface + frames
        var start = 0
        while start < bytes.count {
            let end = min(bytes.count, cut < bytes.count ? start + cut : bytes.count)
            unsafe bytes[start..<end].withUnsafeBytes { unsafe count.read($0) }
            start = end
        }
        return count
    }

    private func many(_ frame: [UInt8], _ times: Int = 21_000) -> [UInt8] {
        [UInt8](repeatElement(frame, count: times).joined())
    }

    @Test(
        "Frames that bring next to nothing are too many some time, however the packets fall", arguments: [1, 7, 1_000])
    func small(cut: Int) {
        for frame in [frame(0, 1), frame(0, 63), frame(8, 4), frame(99, 0)] {
            #expect(count(many(frame), cut: cut).isExhausted)
            #expect(!count(many(frame, 19_000), cut: cut).isExhausted)
        }
    }

    @Test("Bodies in frames of some size, and requests with small ones, are never too many")
    func large() {
        #expect(!count(many(frame(0, 64))).isExhausted)
        #expect(!count(many(frame(1, 30) + frame(0, 2))).isExhausted)
        #expect(!count(many(frame(0, 2) + frame(0, 200))).isExhausted)
    }

    private func windows(_ size: UInt16) -> [UInt8] {
        [0, 0, 12, 4, 0, 0, 0, 0, 0] + [0, 3, 0, 0, 0, 100] + [0, 4, 0, 0, UInt8(size >> 8), UInt8(size & 255)]
    }

    @Test("Windows that shrink within requests are too much, however the packets fall", arguments: [1, 7, 1_000])
    func windowsShrink(cut: Int) {
        let request = frame(1, 30)
        #expect(count(windows(1_000) + request + windows(999), cut: cut).isExhausted)
        #expect(count(request + windows(65_534), cut: cut).isExhausted)
        // Before any request, or to more.
        #expect(!count(windows(1_000) + windows(999) + request, cut: cut).isExhausted)
        #expect(!count(windows(1_000) + request + windows(1_000) + windows(2_000) + request, cut: cut).isExhausted)
    }

    @Test("Windows may shrink once all requests are over")
    func windowsShrinkAtRest() {
        var rested = count(frame(1, 30))
        rested.restBegins()
        unsafe windows(10).withUnsafeBytes { unsafe rested.read($0) }
        #expect(!rested.isExhausted)
        let more = frame(1, 30) + windows(9)
        unsafe more.withUnsafeBytes { unsafe rested.read($0) }
        #expect(rested.isExhausted)
    }

    @Test("What was spent comes back with time, up to what there was at first")
    func time() {
        var spent = count(many(frame(8, 4), 19_000))
        for _ in 0..<100 { spent.grant(1_000) }
        unsafe many(frame(8, 4), 19_000).withUnsafeBytes { unsafe spent.read($0) }
        #expect(!spent.isExhausted)
        unsafe many(frame(8, 4), 2_000).withUnsafeBytes { unsafe spent.read($0) }
        #expect(spent.isExhausted)
        spent.grant(1_000)
        #expect(spent.isExhausted)
    }
}
