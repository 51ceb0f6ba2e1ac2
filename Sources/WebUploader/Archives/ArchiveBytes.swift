/// The pieces of an archive, all as bytes.
final class ArchiveBytes: ChunkProducer {
    private let producer: ArchiveProducer

    /// - Parameter producer: one that reads every file itself.
    init(_ producer: ArchiveProducer) { self.producer = producer }

    func next() throws -> [UInt8]? {
        guard case .bytes(let bytes) = try producer.next() else { return nil }
        return bytes
    }
}
