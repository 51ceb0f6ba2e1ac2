import DirectoryRoot
import ServerCore

/// Moves the body of one request into an upload.
struct UploadTransfer: Sendable {
    let upload: ResumableUpload
    /// What the bytes of this request shall amount to.
    var checksums: [ChunkChecksum] = []
    /// The answer when they do not.
    var mismatch = Self.checksumMismatch
    /// Whether an upload that is whole then is finished at once, which asks more of the disk.
    var finishes = false

    /// 460, tus's own status for bytes that are not what their checksum says.
    static let checksumMismatch = Status(code: 460)

    /// Writes all the bytes.
    ///
    /// What fitted before an error stays, but for bytes that a checksum does not vouch for: not when the connection
    /// breaks off, nor when we are killed.
    /// - Parameters:
    ///   - request: brings the body.
    ///   - progress: told after each write how much has come that stays.
    /// - Throws: what the disk or the connection says; ``HTTPError`` with the status ``mismatch`` when the checksum is
    ///   not met.
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
                    // So that the client can go on from here at another process, too. Else it sends again what came
                    // since it was last noted; it hears why it was interrupted.
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
