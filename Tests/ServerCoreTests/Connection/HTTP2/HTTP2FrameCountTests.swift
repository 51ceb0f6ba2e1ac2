import Testing

@testable import ServerCore

@Suite("Count of HTTP/2 frames") struct HTTP2FrameCountTests {
    private let preface = [UInt8](repeating: 80, count: 24)

    private func frame(_ type: UInt8, _ length: Int) -> [UInt8] {
        [0, UInt8(length >> 8), UInt8(length & 255), type, 0, 0, 0, 0, 1] + [UInt8](repeating: 1, count: length)
    }

    private func read(_ bytes: some Sequence<UInt8>) -> HTTP2FrameCount {
        var count = HTTP2FrameCount()
        unsafe (preface + bytes).withUnsafeBytes { unsafe count.read($0) }
        return count
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

    /// How the windows shrank in each of the packets.
    private func shrinkings(_ packets: [[UInt8]]) -> [HTTP2FrameCount.Shrinking] {
        var count = HTTP2FrameCount()
        unsafe preface.withUnsafeBytes { unsafe count.read($0) }
        return packets.map { packet in
            unsafe packet.withUnsafeBytes { unsafe count.read($0) }
            return count.shrinking
        }
    }

    @Test("Windows that shrink are told, and whether a request is before them in the same packet")
    func windowsShrink() {
        let request = frame(1, 30)
        #expect(
            shrinkings([windows(1_000), windows(999) + request, request + windows(998), windows(998), windows(999)])
                == [.alone, .alone, .behindRequest, .none, .none])
        #expect(shrinkings([request, windows(9) + windows(10)]) == [.none, .alone])
        #expect(shrinkings([request + windows(65_534) + windows(65_533)]) == [.behindRequest])
    }

    @Test("They are told when the settings are whole, and a request counts where it ends")
    func windowsShrinkInParts() {
        let settings = windows(9) + frame(8, 4)
        for cut in 1..<windows(9).count {
            #expect(shrinkings([Array(settings[..<cut]), Array(settings[cut...])]) == [.none, .alone])
        }
        for type: UInt8 in [1, 9] {
            let request = frame(type, 30)
            for cut in 1..<request.count {
                #expect(
                    shrinkings([Array(request[..<cut]), Array(request[cut...]) + settings]) == [.none, .behindRequest])
            }
        }
    }

    @Test("What is read goes on up to a frame's end, and of bodies also pieces")
    func unfinished() {
        for type: UInt8 in [0, 1, 4, 9, 99] {
            for flags: UInt8 in [0, 0x8] {
                var frame = frame(type, 30)
                frame[4] = flags
                for cut in 1..<frame.count {
                    let isPiece = type == 0 && flags == 0 && cut > 9
                    #expect(read(frame[..<cut]).unfinished == (isPiece ? 0 : cut))
                    #expect(read(frame + frame[..<cut]).unfinished == (isPiece ? 0 : cut))
                }
                #expect(read(frame).unfinished == 0)
            }
        }
        // A frame that is too large is refused by its header.
        let large = frame(1, 16_385)
        #expect(read(large[..<9]).unfinished == 0 && read(large[..<5_000]).unfinished == 0)
        #expect(read(frame(1, 16_384)[..<5_000]).unfinished == 5_000)
        var begun = HTTP2FrameCount()
        unsafe preface[..<7].withUnsafeBytes { unsafe begun.read($0) }
        #expect(begun.unfinished == 7)
    }

    @Test("The fields of a request are on their way until the last of them has come")
    func fields() {
        var first = frame(1, 30)
        var last = frame(9, 20)
        last[4] = 0x4
        #expect(!read([]).isWithinFields && !read(first[..<8]).isWithinFields)
        #expect(read(first[..<9]).isWithinFields && read(first).isWithinFields)
        #expect(read(first[..<9]).fieldBytes == 0 && read(first[..<19]).fieldBytes == 10)
        #expect(read(first).fieldBytes == 30)
        #expect(read(first + last[..<8]).fieldBytes == 30 && read(first + last[..<28]).fieldBytes == 49)
        #expect(read(first + last).fieldBytes == 0 && read(first + last + frame(0, 9)[..<12]).fieldBytes == 0)
        first[4] = 0x4
        #expect(read(first[..<20]).fieldBytes == 11 && read(first).fieldBytes == 0)
        // An announced length costs nothing before the bytes arrive.
        #expect(read([0xFF, 0xFF, 0xFF, 1, 0, 0, 0, 0, 1, 7, 7, 7]).fieldBytes == 3)
        #expect(read(first + first).requests == 2)
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
