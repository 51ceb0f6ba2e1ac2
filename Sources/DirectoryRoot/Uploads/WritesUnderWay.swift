import Synchronization

/// The larger contents that this process is receiving and that get their names when they are complete, for showing
/// their progress.
final class WritesUnderWay: Sendable {
    /// One of them.
    struct Write {
        /// Where it will be, from the root.
        var target: SharePath
        /// The total number of bytes, if known.
        var length: Int64?
        var offset: Int64
        var user: String?
        var began: Timestamp
    }

    private let writes = Mutex<[ObjectIdentifier: Write]>([:])

    /// Records how far an upload has come.
    func note(_ write: Write, of upload: PendingUpload) {
        writes.withLock { $0[ObjectIdentifier(upload)] = write }
    }

    /// Forgets an upload that has its name or was given up.
    func end(_ upload: PendingUpload) {
        writes.withLock { $0[ObjectIdentifier(upload)] = nil }
    }

    /// All of them, as uploads that can't be resumed.
    func all() -> [UploadProgress] {
        writes.withLock { Array($0.values) }.map { write in
            let record = UploadRecord(
                id: "", target: write.target, length: write.length, notes: [], modified: nil, mediaType: nil,
                isPartial: false, parts: [], user: write.user, created: write.began, touched: write.began,
                phase: .receiving)
            return UploadProgress(record: record, offset: write.offset)
        }
        .sorted { $0.record.created < $1.record.created }
    }
}
