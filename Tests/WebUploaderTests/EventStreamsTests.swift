import Testing

@testable import WebUploader

@Suite("Event streams") struct EventStreamsTests {
    private func add(from network: String, to streams: EventStreams) -> AsyncStream<FolderEvent>.Continuation? {
        let continuation = AsyncStream<FolderEvent>.makeStream().continuation
        return streams.add(continuation, from: network) ? continuation : nil
    }

    @Test("No network has more of them than are left for others, who find a place as long as there is one")
    func shares() {
        let streams = EventStreams(limit: 8)
        streams.begin()
        var open = (0..<20).compactMap { _ in add(from: "a", to: streams) }
        #expect(open.count == 5)
        open += (0..<20).compactMap { _ in add(from: "b", to: streams) }
        #expect(open.count == 7)
        open += (0..<20).compactMap { _ in add(from: "c", to: streams) }
        #expect(open.count == 8)
        #expect(add(from: "d", to: streams) == nil)
        open[0].finish()
        #expect(add(from: "d", to: streams) != nil)
        streams.end()
    }
}
