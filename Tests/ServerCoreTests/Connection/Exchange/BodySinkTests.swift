import Testing

@testable import ServerCore

@Suite("Body sink")
struct BodySinkTests {
    @Test("pieces are cut and joined as the connection asks, and none of it is lost or sent twice")
    func pieces() async throws {
        let sink = BodySink()
        var written: [UInt8] = []
        var sent: [UInt8] = []
        var limits = [1, 5, 4_096, 7, 30_000, 64, .max].makeIterator()
        for round in 0..<40 {
            let piece = (0..<(round * 397 % 2_000)).map { UInt8(truncatingIfNeeded: $0 &+ round) }
            written += piece
            try await sink.write(.bytes(piece))
            if round % 6 == 5, let limit = limits.next(), case .piece(.bytes(let bytes)) = sink.next(upTo: limit) {
                #expect(bytes.count <= limit)
                sent += bytes
            }
        }
        sink.finish(isWhole: true)
        while case .piece(.bytes(let bytes)) = sink.next(upTo: 1_000) { sent += bytes }
        #expect(sent == written)
        guard case .end(sentAround: 0) = sink.next() else {
            Issue.record("there is more")
            return
        }
    }
}
