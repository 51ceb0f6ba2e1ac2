import ServerCore

/// Another producer's bytes as gzip, sent on as soon as there are some.
final class GzipProducer: ChunkProducer, @unchecked Sendable {
    private let source: any ChunkProducer
    private let deflater: Deflater
    private let flushes: Bool
    private var isOver = false

    /// - Parameters:
    ///   - source: makes the bytes.
    ///   - flushes: whether each chunk goes out at once, so that the first rows show while the last are still being
    ///     read.
    ///   - level: 1, fast, to 9, small.
    /// - Throws: `GzipError` when there is no memory.
    init(_ source: any ChunkProducer, flushes: Bool = true, level: Int32 = 4) throws {
        deflater = try Deflater(level: level)
        self.source = source
        self.flushes = flushes
    }

    func next() throws -> [UInt8]? {
        while !isOver {
            var bytes: [UInt8] = []
            if let chunk = try source.next() {
                bytes = flushes ? deflater.flush(chunk) : deflater.compress(chunk)
            } else {
                isOver = true
                bytes = deflater.finish()
            }
            if !bytes.isEmpty { return bytes }
        }
        return nil
    }
}
