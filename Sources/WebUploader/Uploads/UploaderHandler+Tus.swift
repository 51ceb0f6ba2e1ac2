import DirectoryRoot
import ServerCore

/// The tus protocol, 1.0.0, based on the share's own uploads.
extension UploaderHandler {
    /// The value of `Tus-Version` and `Tus-Resumable`: the only supported version.
    static let tusVersion = "1.0.0"

    /// Refuses other versions; every response contains the version.
    /// - Parameters:
    ///   - request: the request.
    ///   - needsVersion: whether a request that names no version is refused too.
    ///   - work: returns the response.
    /// - Returns: a refusal, or a task for the response.
    func tus(
        _ request: Request, needsVersion: Bool = true, _ work: @escaping @Sendable (Request) async throws -> Response
    ) -> Answer {
        let version = request.fields["tus-resumable"]
        guard version == Self.tusVersion || version == nil && !needsVersion else {
            return .now(
                Response(
                    HTTPError(
                        .preconditionFailed,
                        "This server speaks tus \(Self.tusVersion): send Tus-Resumable: \(Self.tusVersion).",
                        fields: ["Tus-Version": Self.tusVersion, "Tus-Resumable": Self.tusVersion])))
        }
        return .later { request in
            do {
                var response = try await work(request)
                response.fields["Tus-Resumable"] = Self.tusVersion
                response.fields["Cache-Control"] = "no-store"
                return response
            } catch {
                throw Self.refusal(of: error)
            }
        }
    }

    private static func refusal(of error: any Error) -> any Error {
        let mismatch = HTTPError(
            UploadTransfer.checksumMismatch, "The file is not what its digest says. Upload it again.")
        guard var refusal = error is DigestMismatch ? mismatch : HTTPError(of: error) else { return error }
        refusal.fields["Tus-Resumable"] = tusVersion
        return refusal
    }

    /// Creation, with its extensions.
    func createTus(_ request: Request) async throws -> Response {
        let fields = request.fields
        let concat = fields["upload-concat"]
        if let concat, concat.hasPrefix("final;") { return try await joinTus(request, concat) }
        guard concat == nil || concat == "partial" else {
            throw HTTPError(.badRequest, "Upload-Concat is “partial” or “final;” and the uploads' addresses.")
        }
        let length = try announcedLength(fields, isRequired: true)
        // Before an upload exists that the client does not know about.
        let checksums = try ChunkChecksum.all(of: request)
        let metadata = try UploadMetadata(field: fields["upload-metadata"] ?? "")
        let isPartial = concat != nil
        let notes = try notes(metadata, fields, isPartial: isPartial)
        let modified = try metadata.modified()
        // Roughly the target, since its disk is not asked and may block for long: enough to choose the pool.
        let place = isPartial ? nil : try? metadata.target { _ in false }
        let upload = try await beginning(request, length: length, io: place.map { request.io(for: $0) }) {
            let target = isPartial ? nil : try metadata.target(isFolder: request.share.isFolder)
            return try request.share.createUpload(
                to: target, length: length, notes: notes, modified: modified, mediaType: metadata.mediaType,
                from: request.network)
        }
        var answer: ResponseFields = ["Location": uploadAddress(upload.id, request)]
        answer["Upload-Expires"] = HTTPDate.text(upload.expires.seconds)
        let hasBody = Self.isOffsetStream(fields)
        guard hasBody || length == 0 else { return Response(.created, fields: answer) }
        return try await orForgetting(upload, request) {
            let before = try await seenTarget(of: upload, request)
            if hasBody {
                try await UploadTransfer(upload: upload, checksums: checksums, finishes: true).run(request)
            }
            return try await answerTus(request, upload, .created, answer, before: before)
        }
    }

    /// Runs what is left to do before a client gets the address of an upload; if it fails, the upload is removed, since
    /// nobody could ever continue it, and it would only take up space.
    func orForgetting(
        _ upload: ResumableUpload, _ request: Request, _ work: () async throws -> Response
    ) async throws -> Response {
        // If it can't be removed now, it expires; the reason for the failure matters more.
        func forget() async { _ = try? await request.io.run { try request.share.removeUpload(id: upload.id) } }
        do {
            let response = try await work()
            if response.status.code >= 400 { await forget() }
            return response
        } catch {
            await forget()
            throw error
        }
    }

    /// A final upload, concatenated from partial ones.
    private func joinTus(_ request: Request, _ concat: String) async throws -> Response {
        let prefix = request.prefix + "/.shareserve/uploads/"
        let ids = try concat.dropFirst("final;".utf8.count).split(separator: " ").map { (address) throws(HTTPError) in
            guard let place = address.firstRange(of: prefix) else {
                throw HTTPError(.badRequest, "Upload-Concat names an upload that is not of this server.")
            }
            return String(address[place.upperBound...])
        }
        guard !ids.isEmpty, ids.count <= 10_000, request.fields["upload-length"] == nil else {
            throw HTTPError(.badRequest, "A final upload is made of others, and has their length.")
        }
        // Opening one takes it from its previous owner.
        guard Set(ids).count == ids.count else {
            throw HTTPError(.badRequest, "Upload-Concat names an upload twice; what comes twice is uploaded twice.")
        }
        let metadata = try UploadMetadata(field: request.fields["upload-metadata"] ?? "")
        var notes = try notes(metadata, request.fields, isPartial: false)
        notes.concat = concat
        let modified = try metadata.modified()
        let place = try? metadata.target { _ in false }
        let io = place.map { request.io(for: $0) } ?? request.io
        try io.requireAnswering()
        let before = try await seenTarget(request, io: io) {
            try metadata.target(isFolder: request.share.isFolder)
        }
        // All bytes of all parts are copied.
        let upload = try await io.walk { [notes] () throws -> ResumableUpload in
            let spec = UploadSpec(
                target: try metadata.target(isFolder: request.share.isFolder), length: nil,
                replacing: notes.replacement, notes: notes.pairs, modified: modified, mediaType: metadata.mediaType,
                client: request.network)
            do {
                return try request.share.joinUploads(ids, as: spec)
            } catch RootError.preconditionFailed {
                throw HTTPError(.badRequest, "One of these uploads is not finished, or not a partial one.")
            }
        }
        let answer: ResponseFields = ["Location": uploadAddress(upload.id, request)]
        return try await orForgetting(upload, request) {
            try await answerTus(request, upload, .created, answer, before: before)
        }
    }

    /// Core: PATCH.
    ///
    /// If the name was taken meanwhile, the response is 409 without an offset, and all received bytes stay: with
    /// `conflict` in `Upload-Metadata`, and conditions as at the creation, the client can say again what to do.
    func appendTus(_ request: Request, _ id: String) async throws -> Response {
        let fields = request.fields
        guard Self.isOffsetStream(fields) else {
            throw HTTPError(.unsupportedMediaType, "Send the bytes as application/offset+octet-stream.")
        }
        guard let offset = fields["upload-offset"].flatMap({ ASCII.decimal($0.utf8) }) else {
            throw HTTPError(.badRequest, "Upload-Offset is missing or malformed.")
        }
        let length = try announcedLength(fields, isRequired: false)
        let checksums = try ChunkChecksum.all(of: request)
        let wish = try wish(fields)
        let state = try await request.io.run { try request.share.upload(id: id) }
        guard UploadNotes(state.record).concat == nil else {
            throw HTTPError(.forbidden, "This upload is made of others: nothing can be added to it.")
        }
        if state.record.isFinished {
            // The response to the last bytes was lost, or the client sends them again.
            guard offset == state.offset, request.body.length ?? 0 == 0 else { throw Self.mismatch(state.offset) }
            var answer: ResponseFields = ["Upload-Offset": String(state.offset)]
            answer["Content-Location"] = place(of: state.record, request)
            return Response(.noContent, fields: answer)
        }
        let upload = try await request.io.run { () throws -> ResumableUpload in
            let upload: ResumableUpload
            do {
                upload = try request.share.resumeUpload(id: id)
            } catch RootError.unknownToken {
                // Another request has finished it since.
                throw Self.mismatch(try request.share.upload(id: id).offset)
            }
            guard upload.offset == offset else { throw Self.mismatch(upload.offset) }
            if let length { try Self.declare(length, of: upload) }
            if let coming = request.body.length, let whole = upload.record.length, coming > whole - offset {
                throw HTTPError(.contentTooLarge, "These are more bytes than the upload has.")
            }
            return upload
        }
        let before = try await seenTarget(of: upload, request)
        try await UploadTransfer(upload: upload, checksums: checksums, finishes: true).run(request)
        return try await answerTus(request, upload, .noContent, [:], wish, before: before)
    }

    private static func declare(_ length: Int64, of upload: ResumableUpload) throws {
        do {
            try upload.declareLength(length)
        } catch {
            guard error == .preconditionFailed else { throw error }
            throw HTTPError(.badRequest, "The upload has another length already.")
        }
    }

    private static func mismatch(_ offset: Int64) -> HTTPError {
        HTTPError(
            .conflict, "The upload has come as far as byte \(offset). Go on from there.",
            fields: ["Upload-Offset": String(offset)])
    }

    /// The response to every request that stores bytes; a complete upload gets its name first.
    private func answerTus(
        _ request: Request, _ upload: ResumableUpload, _ status: Status, _ fields: ResponseFields,
        _ wish: UploadNotes? = nil, before: SeenTarget? = nil
    ) async throws -> Response {
        var fields = fields
        fields["Upload-Offset"] = String(upload.offset)
        guard upload.isComplete, !upload.record.isPartial else {
            fields["Upload-Expires"] = HTTPDate.text(upload.expires.seconds)
            return Response(status, fields: fields)
        }
        let finished = try await request.share.finish(
            upload, wish: wish, before: before, io: request.io(finishing: upload))
        await addFinished(finished, request, to: &fields)
        return Response(status, fields: fields)
    }

    /// Core, HEAD.
    ///
    /// Asking for the offset takes the upload over, so that the offset in the response stays true. A client that is
    /// told that nothing is missing assumes that its file is in place: so it is put in place now, or the response gives
    /// the reason why not. A request that names no version of tus may come from a client of the draft, which names none
    /// either, so it gets the draft's fields too.
    func tusState(_ request: Request, _ id: String) async throws -> Response {
        let (record, offset, expires) = try await takeOver(request, id)
        let notes = UploadNotes(record)
        var fields: ResponseFields = ["Upload-Offset": String(offset)]
        if let length = record.length {
            fields["Upload-Length"] = String(length)
        } else {
            fields["Upload-Defer-Length"] = "1"
        }
        let draft = DraftVersion.assumed(request.fields)
        draft.addCompleteness(record.isFinished, to: &fields)
        fields["Upload-Limit"] = limits(of: request, draft)
        fields["Upload-Metadata"] = notes.metadata
        fields["Upload-Concat"] = record.isPartial ? "partial" : notes.concat
        fields["Upload-Expires"] = expires.map { HTTPDate.text($0.seconds) }
        if case .finished(let tag, _) = record.phase {
            fields["ETag"] = tag
            fields["Content-Location"] = place(of: record, request)
        }
        return Response(.ok, fields: fields)
    }

    /// As ``Share/takeOver(_:finishing:io:)``; a refusal tells how much has come, too.
    private func takeOver(
        _ request: Request, _ id: String
    ) async throws -> (record: UploadRecord, offset: Int64, expires: Timestamp?) {
        do {
            return try await request.share.takeOver(id, finishing: { request.io(finishing: $0) }, io: request.io)
        } catch {
            guard var refusal = HTTPError(of: error),
                let progress = try? await request.io.run({ try request.share.upload(id: id) })
            else { throw error }
            refusal.fields["Upload-Offset"] = String(progress.offset)
            refusal.fields["Upload-Length"] = progress.record.length.map { String($0) }
            throw refusal
        }
    }

    private func place(of record: UploadRecord, _ request: Request) -> String? {
        record.target?.relative(to: request.share.base).map { request.href($0, isDirectory: false) }
    }

    /// Termination.
    func terminateTus(_ request: Request, _ id: String) async throws -> Response {
        try await request.io.run { try request.share.removeUpload(id: id) }
        return Response(.noContent)
    }

    /// What a later request says about a taken name; nil when it says nothing.
    private func wish(_ fields: RequestFields) throws(HTTPError) -> UploadNotes? {
        guard let field = fields["upload-metadata"] else { return nil }
        let metadata = try UploadMetadata(field: field)
        return metadata["conflict"] == nil ? nil : try notes(metadata, fields, isPartial: true)
    }

    private func notes(
        _ metadata: UploadMetadata, _ fields: RequestFields, isPartial: Bool
    ) throws(HTTPError) -> UploadNotes {
        let wish = metadata.text("conflict")
        let rule = try ConflictRule(parameter: wish ?? "fail")
        // As with PUT, unless the client does not want to replace anything anyway.
        var notes = UploadNotes(conditionsOf: fields)
        if notes.conditions.isEmpty || wish != nil && rule != .replace { notes = UploadNotes(rule: rule) }
        notes.metadata = fields["upload-metadata"]
        guard !isPartial else { return notes }
        notes.digest = try metadata.expectedDigest()
        if let field = fields["repr-digest"] { notes.digest = try ReprDigest(field: field) }
        return notes
    }

    /// Whether the body is declared as bytes of the upload, in tus's way.
    private static func isOffsetStream(_ fields: RequestFields) -> Bool {
        let mediaType = fields["content-type"].map { HeaderParameters($0.utf8).value }
        return mediaType?.elementsEqual("application/offset+octet-stream".utf8) == true
    }

    /// `Upload-Length`; nil when it is deferred.
    private func announcedLength(_ fields: RequestFields, isRequired: Bool) throws(HTTPError) -> Int64? {
        let deferred = fields["upload-defer-length"]
        guard let field = fields["upload-length"] else {
            guard !isRequired || deferred == "1" else {
                throw HTTPError(.badRequest, "Upload-Length is missing; Upload-Defer-Length: 1 puts it off.")
            }
            return nil
        }
        guard deferred == nil, let length = ASCII.decimal(field.utf8) else {
            throw HTTPError(.badRequest, "Upload-Length is malformed, or deferred at the same time.")
        }
        return length
    }
}

extension Share {
    /// Whether a folder is at `path`; waits for the disk.
    fileprivate func isFolder(_ path: SharePath) -> Bool { (try? attributes(of: path))?.isDirectory == true }
}
