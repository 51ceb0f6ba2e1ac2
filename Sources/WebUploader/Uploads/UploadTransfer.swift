import DirectoryRoot
import ServerCore

/// Writes the body of one request to an upload.
struct UploadTransfer: Sendable {
    let upload: ResumableUpload
    /// The checksums that the bytes of this request must have.
    var checksums: [ChunkChecksum] = []
    /// The status when they do not.
    var mismatch = Self.checksumMismatch
    /// Whether an upload that is then complete will be finished immediately, which requires more of the disk.
    var finishes = false

    /// 460, tus's own status for bytes that do not match their checksum.
    static let checksumMismatch = Status(code: 460)

    /// Writes all the bytes.
    ///
    /// What was written before an error stays, except bytes that a checksum should have verified: those are dropped
    /// when the connection ends or the server is killed.
    /// - Parameters:
    ///   - request: provides the body.
    ///   - progress: called after each write with the number of bytes that stay.
    /// - Throws: what the disk or the connection reports; ``HTTPError`` with the status ``mismatch`` when a checksum
    ///   does not match.
    func run(_ request: Request, progress: (Int64) -> Void = { _ in }) async throws {
        let upload = upload
        let start = upload.offset
        var checksums = checksums
        if !checksums.isEmpty { try await request.io.run { try upload.awaitProof() } }
        do {
            try unsafe await request.body.forEachPiece { piece in
                for index in checksums.indices { unsafe checksums[index].update(piece) }
                try unsafe upload.write(piece)
                progress(upload.settled)
            }
        } catch {
            let isProven = checksums.isEmpty
            try await request.io.run {
                if isProven {
                    // So that the client can continue from here at another process too. If this fails, it sends again
                    // what came since the last record; the reason for the interruption is reported anyway.
                    try? upload.settle()
                } else {
                    try upload.truncate(to: start)
                }
            }
            throw error
        }
        guard checksums.allSatisfy({ $0.isMet() }) else {
            try await request.io.run { try upload.truncate(to: start) }
            throw HTTPError(
                mismatch, "These bytes are not what their checksum says. Send them again.",
                fields: ["Upload-Offset": String(start)])
        }
        if finishes, checksums.isEmpty, upload.isComplete, !upload.record.isPartial { return }
        try await request.io.run { try upload.settle() }
    }
}
