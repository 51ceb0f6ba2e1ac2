import DirectoryRoot

/// A file's content as one gzip member, piece by piece.
///
/// Used by one task at a time; ``next()`` waits for the disk.
final class CompressedFile: @unchecked Sendable {
    private let entry: Entry
    private let size: Int64
    private let deflater: Deflater
    private var offset: Int64 = 0

    /// Read at a time, in bytes: what the processor's cache still holds when it is searched for matches.
    private static let inputPiece: Int64 = 65_536
    /// Enough output for a turn of the event loop, in bytes.
    private static let outputPiece = 65_536
    /// The most input of one call, in bytes: some 10 ms, for which others wait.
    private static let inputLimit: Int64 = 1_048_576

    /// Prepares for compression.
    /// - Parameters:
    ///   - entry: the open file.
    ///   - size: how much of it is compressed, in bytes: as much as it had when the answer's head was made.
    /// - Throws: ``GzipError/noMemory``.
    init(_ entry: Entry, size: Int64) throws(GzipError) {
        deflater = try Deflater(expecting: size)
        self.entry = entry
        self.size = size
    }

    /// Whether all of it has been returned.
    private(set) var isOver = false

    /// The next bytes; may be none before the end.
    /// - Throws: ``RootError/notFound`` when the file was truncated meanwhile, so that the body gets no valid end; what
    ///   reading a file throws.
    /// - Returns: the bytes.
    func next() throws -> [UInt8] {
        var output: [UInt8] = []
        let end = min(size, offset + Self.inputLimit)
        repeat {
            let piece = try entry.bytes(at: offset, upTo: Int(min(size - offset, Self.inputPiece)))
            guard !piece.isEmpty || size == 0 else { throw RootError.notFound }
            offset += Int64(piece.count)
            isOver = offset >= size
            output += isOver ? deflater.finish(piece) : deflater.compress(piece)
        } while output.count < Self.outputPiece && offset < end
        return output
    }
}
