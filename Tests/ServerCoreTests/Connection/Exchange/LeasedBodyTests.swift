import Testing

@testable import ServerCore

@Suite("Body from a lent socket") struct LeasedBodyTests {
    @Test("Small chunks that came together are given on together, in order, and large ones as they are")
    func smallChunks() throws {
        let large = [UInt8](repeating: 76, count: 10_000)
        var bytes = Array(String(repeating: "1\r\na\r\n", count: 1_000).utf8)
        bytes += Array("2710\r\n".utf8) + large + Array("\r\n".utf8)
        bytes += Array(String(repeating: "2\r\nbc\r\n", count: 1_000).utf8)
        bytes += Array("0\r\n\r\nnext".utf8)
        var body = LeasedBody(incoming: .chunked(HTTP1ChunkDecoder()), limit: nil)
        var pieces: [[UInt8]] = []
        try unsafe bytes.withUnsafeBytes { bytes in
            try unsafe body.take(bytes) { piece in unsafe pieces.append(Array(piece)) }
        }
        let small = [UInt8](repeating: 97, count: 1_000)
        let last = Array(String(repeating: "bc", count: 1_000).utf8)
        #expect(pieces == [small, large, last])
        #expect(body.isDone && body.leftover == Array("next".utf8))
    }
}
