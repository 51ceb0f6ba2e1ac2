import ServerCore
import Testing

@Suite("Deflater and Inflater")
struct GzipTests {
    private func inflate(_ bytes: [UInt8], piece: Int, _ inflater: Inflater) throws -> [UInt8] {
        var result: [UInt8] = []
        var rest = bytes[...]
        while !rest.isEmpty {
            inflater.feed(Array(rest.prefix(piece)))
            rest = rest.dropFirst(piece)
            while let out = try inflater.piece() { result.append(contentsOf: out) }
        }
        try inflater.finish()
        return result
    }

    @Test(
        "What is compressed comes back, however it is cut", arguments: [0, 1, 1000, 65_536, 300_000],
        [1, 7, 4096, 1 << 20])
    func roundTrip(size: Int, piece: Int) throws {
        guard size < 100_000 || piece > 1 else { return }
        var generator = Seeded(state: 0x5EED)
        let content = (0..<size).map {
            $0 % 3 == 0 ? UInt8.random(in: 0...255, using: &generator) : UInt8(truncatingIfNeeded: $0 >> 8)
        }
        let deflater = try Deflater()
        var zipped: [UInt8] = []
        var rest = content[...]
        while !rest.isEmpty {
            zipped += deflater.compress(Array(rest.prefix(10_000)))
            rest = rest.dropFirst(10_000)
        }
        zipped += deflater.finish()
        #expect(try inflate(zipped, piece: piece, Inflater()) == content)
    }

    @Test("A flush lets everything out")
    func flush() throws {
        let deflater = try Deflater()
        let inflater = try Inflater()
        inflater.feed(deflater.flush(Array("hello".utf8)))
        #expect(try inflater.piece() == Array("hello".utf8))
    }

    @Test("Members that follow one another are one stream")
    func members() throws {
        let one = try Deflater().finish(Array("one".utf8))
        let two = try Deflater().finish(Array("two".utf8))
        #expect(try inflate(one + two, piece: 5, Inflater()) == Array("onetwo".utf8))
    }

    @Test("A stream that ends early is truncated")
    func truncated() throws {
        let zipped = try Deflater().finish([UInt8](repeating: 7, count: 1000))
        for count in 0..<zipped.count {
            #expect(throws: GzipError.truncated) { try inflate(Array(zipped[..<count]), piece: 3, Inflater()) }
        }
    }

    @Test("Damage and garbage are malformed")
    func malformed() throws {
        var zipped = try Deflater().finish([UInt8](repeating: 7, count: 1000))
        #expect(throws: GzipError.malformed) { try inflate(zipped + [1, 2, 3], piece: 100, Inflater()) }
        zipped[zipped.count - 6] ^= 1
        #expect(throws: GzipError.malformed) { try inflate(zipped, piece: 100, Inflater()) }
        #expect(throws: GzipError.malformed) { try inflate(Array("GET / HTTP/1.1\r\n".utf8), piece: 100, Inflater()) }
    }

    @Test("A bomb stops at its limits")
    func bomb() throws {
        let deflater = try Deflater(level: 9)
        var zipped: [UInt8] = []
        for _ in 0..<64 { zipped += deflater.compress([UInt8](repeating: 0, count: 1 << 20)) }
        zipped += deflater.finish()
        #expect(throws: GzipError.expandsTooMuch) { try inflate(zipped, piece: 1000, Inflater()) }
        #expect(throws: GzipError.expandsTooMuch) {
            try inflate(zipped, piece: 1000, Inflater(maxRatio: 10_000, maxBytes: 1 << 20))
        }
        #expect(try inflate(zipped, piece: 1000, Inflater(maxRatio: 10_000)).count == 64 << 20)
    }

    @Test("The frame says what RFC 1952 asks for, however the bytes come")
    func frame() throws {
        let deflater = try Deflater()
        let zipped = deflater.compress(Array("12345".utf8)) + deflater.finish(Array("6789".utf8))
        #expect(zipped.prefix(10) == [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3])
        // The CRC-32 of these nine digits is 0xCBF43926, by its definition's check value.
        #expect(zipped.suffix(8) == [0x26, 0x39, 0xF4, 0xCB, 9, 0, 0, 0])
    }
}
