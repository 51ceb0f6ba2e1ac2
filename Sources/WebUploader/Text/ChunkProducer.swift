/// Produces a body chunk by chunk.
///
/// Used by one task at a time; ``next()`` may wait for the disk.
protocol ChunkProducer: AnyObject, Sendable {
    /// The next bytes, never empty; nil at the end.
    func next() throws -> [UInt8]?
}
