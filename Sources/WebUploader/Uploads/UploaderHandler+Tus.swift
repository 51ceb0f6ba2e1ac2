import DirectoryRoot
import ServerCore

/// The tus protocol, 1.0.0, on the share's own uploads.
extension UploaderHandler {
    /// The value of `Tus-Version` and `Tus-Resumable`: the one version that is spoken.
    static let tusVersion = "1.0.0"

    /// Refuses another version; whatever is answered says the version.
    /// - Parameters:
    ///   - request: the head.
    ///   - needsVersion: whether a request that names no version is refused too.
    ///   - work: what answers.
    /// - Returns: a refusal, or a task for the answer.
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
        // Before there is anything that the client does not know of.
        let checksums = try ChunkChecksum.all(of: request)
        let metadata = try UploadMetadata(field: fields["upload-metadata"] ?? "")
        let isPartial = concat != nil
        let notes = try notes(metadata, fields, isPartial: isPartial)
        let modified = try metadata.modified()
        // About where it goes: its disk may keep anybody waiting.
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
            if hasBody {
                try await UploadTransfer(upload: upload, checksums: checksums, finishes: true).run(request)
            }
            return try await answerTus(request, upload, .created, answer)
        }
    }

    /// Runs what is left to do before a client hears the address of an upload: when that fails, nobody could ever go on
    /// with the upload, and it would only keep its room.
    func orForgetting(
        _ upload: ResumableUpload, _ request: Request, _ work: () async throws -> Response
    ) async throws -> Response {
        // What can't be removed now goes when it expires; why nothing came of it matters more.
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

    /// A final upload out of partial ones.
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
        // Whoever opens one takes it from who held it.
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
        return try await orForgetting(upload, request) { try await answerTus(request, upload, .created, answer) }
    }

    /// Core: PATCH.
    ///
    /// Where the name was taken meanwhile, the answer is 409 without an offset, and all that has come stays: with
    /// `conflict` in `Upload-Metadata`, and conditions as at the creation, the client says anew what shall become of
    /// it.
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
            // The answer to the last bytes was lost, or the client says them again.
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
        try await UploadTransfer(upload: upload, checksums: checksums, finishes: true).run(request)
        return try await answerTus(request, upload, .noContent, [:], wish)
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

    /// What all that stores bytes answers; a whole upload gets its name first.
    private func answerTus(
        _ request: Request, _ upload: ResumableUpload, _ status: Status, _ fields: ResponseFields,
        _ wish: UploadNotes? = nil
    ) async throws -> Response {
        var fields = fields
        fields["Upload-Offset"] = String(upload.offset)
        guard upload.isComplete, !upload.record.isPartial else {
            fields["Upload-Expires"] = HTTPDate.text(upload.expires.seconds)
            return Response(status, fields: fields)
        }
        let finished = try await request.share.finish(upload, wish: wish, io: request.io(finishing: upload))
        await addFinished(finished, request, to: &fields)
        return Response(status, fields: fields)
    }

    /// Core, HEAD.
    ///
    /// Who asks for the offset takes the upload over, so that it stays what is answered here. A client that hears that
    /// nothing is missing believes its file to be there: so it is there then, or the answer is why not. Who names no
    /// version of tus may be a client of the draft that names none either, and has its fields too.
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
        } catch let error as RootError {
            guard let progress = try? await request.io.run({ try request.share.upload(id: id) }) else { throw error }
            var refusal = HTTPError(error)
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

    /// What a later request says anew of a taken name; nil where it says nothing.
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
        // As with PUT, unless the client wants to replace nothing anyway.
        var notes = UploadNotes(conditionsOf: fields)
        if notes.conditions.isEmpty || wish != nil && rule != .replace { notes = UploadNotes(rule: rule) }
        notes.metadata = fields["upload-metadata"]
        guard !isPartial else { return notes }
        notes.digest = try metadata.expectedDigest()
        if let field = fields["repr-digest"] { notes.digest = try ReprDigest(field: field) }
        return notes
    }

    /// Whether the body is bytes of the upload, as tus says it.
    private static func isOffsetStream(_ fields: RequestFields) -> Bool {
        let mediaType = fields["content-type"].map { HeaderParameters($0.utf8).value }
        return mediaType?.elementsEqual("application/offset+octet-stream".utf8) == true
    }

    /// `Upload-Length`, or nil when it comes later.
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
