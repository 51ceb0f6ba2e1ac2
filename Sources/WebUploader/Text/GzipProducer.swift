import ServerCore

/// Another producer's bytes as gzip, passed on as soon as there are any.
final class GzipProducer: ChunkProducer, @unchecked Sendable {
    private let source: any ChunkProducer
    private let deflater: Deflater
    private let flushes: Bool
    private var isOver = false

    /// - Parameters:
    ///   - source: produces the bytes.
    ///   - flushes: whether each chunk is sent immediately, so that the first rows show while the last are still being
    ///     read.
    ///   - level: from 1 (fast) to 9 (small).
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
