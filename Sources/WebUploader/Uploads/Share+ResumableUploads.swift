import DirectoryRoot
import ServerCore

/// An upload that has become a file.
struct FinishedUpload: Sendable {
    /// In the share's terms.
    var path: SharePath
    var attributes: FileAttributes
    var created: Bool
}

/// The content does not match its digest: the upload is dropped.
struct DigestMismatch: Error {}

extension Share {
    /// Begins a resumable upload; creates the folders that it needs, and uses a free name with ``ConflictRule/keep``.
    func createUpload(
        to target: SharePath?, length: Int64?, notes: UploadNotes, modified: Timestamp?, mediaType: String?,
        from client: String
    ) throws -> ResumableUpload {
        func create(_ target: SharePath?) throws -> ResumableUpload {
            try createUpload(
                UploadSpec(
                    target: target, length: length, replacing: notes.replacement, notes: notes.pairs,
                    modified: modified, mediaType: mediaType, client: client))
        }
        // A request at the file's own address creates no folders, as a PUT does not.
        guard let target, notes.rule != nil else { return try create(target) }
        return try target.withFreeName(by: notes.rule) { path, _ in
            try makingFolders(to: path.parent) { try create(path) }
        }
    }

    /// The state of an upload; takes it over from whoever still writes to it, so that the state stays true.
    ///
    /// Only reads the state if it can't be taken over: because the upload is finished, or the disk is too full to write
    /// a record.
    /// - Parameters:
    ///   - id: of the upload.
    ///   - finishing: returns the pool for the disk on which the upload gets its name; if all bytes were received but
    ///     the name was refused or never given, it is tried now, for clients that consider the upload done when they
    ///     are told that nothing is missing. Nil leaves such an upload as it is.
    ///   - io: the pool for the disk of the parts.
    /// - Returns: its record, the number of bytes received, and when it expires if nobody continues it.
    /// - Throws: as ``finish(_:wish:before:io:)`` when that is due and fails.
    func takeOver(
        _ id: String, finishing: (@Sendable (ResumableUpload) -> IOPool)? = nil, io: IOPool
    ) async throws -> (record: UploadRecord, offset: Int64, expires: Timestamp?) {
        let (resumed, progress) = try await io.run { () throws -> (ResumableUpload?, UploadProgress?) in
            do throws(RootError) {
                return (try resumeUpload(id: id), nil)
            } catch {
                guard error == .unknownToken || error == .noSpace else { throw error }
                let progress = try upload(id: id)
                if finishing != nil, progress.isUnfinished { throw error }
                return (nil, progress)
            }
        }
        if let progress { return (progress.record, progress.offset, nil) }
        guard let upload = resumed else { throw RootError.unknownToken }
        guard let finishing, upload.isComplete, !upload.record.isPartial else {
            return (upload.record, upload.offset, upload.expires)
        }
        _ = try await finish(upload, io: finishing(upload))
        return (upload.record, upload.offset, nil)
    }

    /// Gives a complete upload its name, if its content is what was announced; also if its client has gone.
    /// - Parameters:
    ///   - upload: a complete upload.
    ///   - wish: what to do with a taken name, if that was changed.
    ///   - before: what was at the target before; nil if that does not matter.
    ///   - io: the pool for the disk.
    /// - Returns: the file that it has become.
    /// - Throws: ``DigestMismatch`` when it is not; then the upload is removed. 503 when that disk does not respond.
    func finish(
        _ upload: ResumableUpload, wish: UploadNotes? = nil, before: SeenTarget? = nil, io: IOPool
    ) async throws -> FinishedUpload {
        try io.requireAnswering()
        var noted = UploadNotes(upload.record).amended(by: wish)
        noted.before = before
        let notes = noted
        if let digest = notes.digest, let algorithm = digest.strongest {
            guard try await upload.digest(by: algorithm, io: io) == digest.digests[algorithm] else {
                try await io.run(isCancellable: false) { try removeUpload(id: upload.id) }
                throw DigestMismatch()
            }
        }
        guard let announced = upload.record.target?.relative(to: base) else { throw RootError.notFound }
        // A copy to another disk is queued with other large copies.
        let copied = try await io.run(isCancellable: false) { upload.isCopiedToFinish() ? upload.offset : 0 }
        return try await io.copying(copied) {
            try announced.withFreeName(by: notes.rule) { path, _ in
                let (attributes, created) = try upload.finish(to: path, replacing: notes.replacement)
                return FinishedUpload(path: path, attributes: attributes, created: created)
            }
        }
    }
}

extension Request {
    /// The pool for the disk on which an upload gets its name.
    func io(finishing upload: ResumableUpload) -> IOPool {
        upload.record.target?.relative(to: share.base).map { io(for: $0) } ?? io
    }
}

extension UploadProgress {
    /// Whether all bytes were received, and the file does not have its name yet.
    fileprivate var isUnfinished: Bool { record.length == offset && !record.isFinished && !record.isPartial }
}

extension ResumableUpload {
    /// The digest of all received bytes; reads them in pieces, so that others can use the pool in between.
    ///
    /// Continues to the end even if the client has disconnected: the digest is all that keeps the upload from its name.
    fileprivate func digest(by algorithm: DigestAlgorithm, io: IOPool) async throws -> [UInt8] {
        var digester = Digester(algorithm)
        var position: Int64 = 0
        while position < offset {
            let (from, before) = (position, digester)
            (position, digester) = try await io.digest(ofUpload: true) { [self] () throws -> (Int64, Digester) in
                var (position, digester) = (from, before)
                while position < min(offset, from + Self.digestedAtOnce) {
                    let bytes = try unsafe [UInt8](unsafeUninitializedCapacity: 256 * 1024) { buffer, filled in
                        filled = try unsafe read(into: UnsafeMutableRawBufferPointer(buffer), at: position)
                    }
                    guard !bytes.isEmpty else { throw RootError.preconditionFailed }
                    digester.update(bytes)
                    position += Int64(bytes.count)
                }
                return (position, digester)
            }
            await Task.yield()
        }
        return digester.finish()
    }

    /// How many bytes are read before others have their turn.
    private static let digestedAtOnce: Int64 = 1 << 20
}
