import DirectoryRoot
import ServerCore

/// "Resumable Uploads for HTTP", draft-ietf-httpbis-resumable-upload, based on the share's own uploads.
///
/// An upload begins with an ordinary PUT or POST at the file's own address, with one additional field; a 104 tells the
/// client where to continue if the connection is lost.
extension UploaderHandler {
    /// Upload creation.
    func createDraft(_ request: Request) async throws -> Response {
        let fields = request.fields
        let version = DraftVersion.assumed(fields)
        guard fields["upload-offset"] == nil else {
            throw HTTPError(.badRequest, "A new upload has no Upload-Offset.")
        }
        let checksums = try ChunkChecksum.all(of: request)
        let completes = version.completes(fields)
        let announced = StructuredField.integer(fields["upload-length"])
        var length = announced
        if completes, let coming = request.body.length {
            guard announced == nil || announced == coming else {
                return UploadProblem.inconsistentLength.response()
            }
            length = coming
        }
        if let announced, let coming = request.body.length, coming > announced {
            return UploadProblem.inconsistentLength.response()
        }
        let (target, notes) = try await draftTarget(request)
        let known = length
        let modified = try fields["x-oc-mtime"].flatMap(ModificationTime.ocMtime)?.time
        let upload = try await beginning(request, length: known) {
            try request.share.createUpload(
                to: target, length: known, notes: notes, modified: modified, mediaType: fields["content-type"],
                from: request.network)
        }
        let address = uploadAddress(upload.id, request)
        let limits = limits(of: request, version)
        let isTold = DraftVersion(fields) != nil
        if isTold {
            request.inform(
                Self.resumptionSupported,
                [
                    "Location": address, "Upload-Limit": limits,
                    "Upload-Draft-Interop-Version": String(version.number),
                ])
        }
        let answer: ResponseFields = ["Location": address, "Upload-Limit": limits]
        func run() async throws -> Response {
            let before = completes ? try await seenTarget(of: upload, request) : nil
            if let problem = try await receive(request, upload, version, checksums) { return problem }
            guard !completes else { return try await completeDraft(request, upload, version, answer, before: before) }
            var incomplete = answer
            incomplete["Upload-Offset"] = String(upload.offset)
            version.addCompleteness(false, to: &incomplete)
            return Response(.created, fields: incomplete)
        }
        return try await telling(request, upload.id, version, at: address) {
            isTold || version.marksRefusals ? try await run() : try await orForgetting(upload, request, run)
        }
    }

    /// Upload append.
    func appendDraft(_ request: Request, _ id: String) async throws -> Response {
        let version = DraftVersion.assumed(request.fields)
        return try await telling(request, id, version) { try await append(request, id, version) }
    }

    private func append(_ request: Request, _ id: String, _ version: DraftVersion) async throws -> Response {
        let fields = request.fields
        if version.number >= 6, fields["content-type"]?.lowercased().hasPrefix("application/partial-upload") != true {
            throw HTTPError(.unsupportedMediaType, "Send the bytes as application/partial-upload.")
        }
        guard let offset = StructuredField.integer(fields["upload-offset"]) else {
            throw HTTPError(.badRequest, "Upload-Offset is missing or malformed.")
        }
        let state = try await request.io.run { try request.share.upload(id: id) }
        if state.record.isFinished { return Self.alreadyFinished(request) }
        let checksums = try ChunkChecksum.all(of: request)
        let completes = version.completes(fields)
        let upload: ResumableUpload
        do {
            upload = try await request.io.run { try request.share.resumeUpload(id: id) }
        } catch RootError.unknownToken {
            // Another request has finished it since, unless it was removed.
            _ = try await request.io.run { try request.share.upload(id: id) }
            return Self.alreadyFinished(request)
        }
        guard upload.offset == offset else {
            var response = UploadProblem.mismatchingOffset(expected: upload.offset, provided: offset).response()
            response.fields["Upload-Offset"] = String(upload.offset)
            version.addCompleteness(false, to: &response.fields)
            return response
        }
        if let problem = try await agreeOnLength(request, upload, completes: completes) { return problem }
        let before = completes ? try await seenTarget(of: upload, request) : nil
        if let problem = try await receive(request, upload, version, checksums) { return problem }
        guard completes else {
            var answer: ResponseFields = ["Upload-Offset": String(upload.offset)]
            version.addCompleteness(false, to: &answer)
            return Response(version.appended, fields: answer)
        }
        return try await completeDraft(request, upload, version, [:], before: before)
    }

    private static func alreadyFinished(_ request: Request) -> Response {
        let hasMore = request.body.length ?? 1 > 0
        return (hasMore ? UploadProblem.inconsistentLength : .completed).response()
    }

    /// Offset retrieval.
    ///
    /// Asking for the offset takes the upload over, so that the offset in the response stays true.
    func draftState(_ request: Request, _ id: String) async throws -> Response {
        let version = DraftVersion.assumed(request.fields)
        guard !version.hasTransferFields(request.fields) else {
            throw HTTPError(.badRequest, "Who asks for the offset does not say one.")
        }
        let (record, offset, _) = try await request.share.takeOver(id, io: request.io)
        var fields: ResponseFields = ["Upload-Offset": String(offset), "Cache-Control": "no-store"]
        version.addCompleteness(record.isFinished, to: &fields)
        fields["Upload-Length"] = record.length.map { String($0) }
        fields["Upload-Limit"] = limits(of: request, version)
        return Response(.noContent, fields: fields)
    }

    /// Upload cancellation.
    func cancelDraft(_ request: Request, _ id: String) async throws -> Response {
        guard !DraftVersion.assumed(request.fields).hasTransferFields(request.fields) else {
            throw HTTPError(.badRequest, "A cancellation has neither offset nor completeness.")
        }
        try await request.io.run { try request.share.removeUpload(id: id) }
        return Response(.noContent)
    }

    private static let resumptionSupported = Status(code: 104)
    private static let progressInterval: Int64 = 16 << 20

    /// Stores the body, and reports the progress to the client from time to time.
    /// - Returns: a response if that is more than the client had announced: the draft requires the upload to end then.
    private func receive(
        _ request: Request, _ upload: ResumableUpload, _ version: DraftVersion, _ checksums: [ChunkChecksum]
    ) async throws -> Response? {
        // The client need not send again what was reported: what a checksum has yet to verify may be dropped, and what
        // is not on the disk can be lost.
        let isTold = DraftVersion(request.fields) != nil && version.number >= 5 && checksums.isEmpty
        var told = upload.offset
        do {
            try await UploadTransfer(upload: upload, checksums: checksums, mismatch: .badRequest).run(request) {
                offset in
                guard isTold, offset - told >= Self.progressInterval else { return }
                told = offset
                request.inform(
                    Self.resumptionSupported,
                    ["Upload-Offset": String(offset), "Upload-Draft-Interop-Version": String(version.number)])
            }
            return nil
        } catch RootError.tooLarge where upload.record.length != nil {
            try await request.io.run { try request.share.removeUpload(id: upload.id) }
            return UploadProblem.inconsistentLength.response()
        }
    }

    /// Gives a complete upload its name, and answers as the request at the file's address would have been answered.
    private func completeDraft(
        _ request: Request, _ upload: ResumableUpload, _ version: DraftVersion, _ fields: ResponseFields,
        before: SeenTarget?
    ) async throws -> Response {
        var fields = fields
        version.addCompleteness(true, to: &fields)
        do {
            try await request.io.run {
                if upload.record.length == nil { try upload.declareLength(upload.offset) }
                guard upload.isComplete else { throw IncompleteUpload() }
            }
            let finished = try await request.share.finish(upload, before: before, io: request.io(finishing: upload))
            fields["Upload-Offset"] = String(upload.offset)
            await addFinished(finished, request, to: &fields)
            return Response(finished.created ? .created : version.number < 7 ? .ok : .noContent, fields: fields)
        } catch is IncompleteUpload {
            return UploadProblem.inconsistentLength.response()
        } catch is DigestMismatch {
            throw HTTPError(.badRequest, "The file is not what its digest says. Upload it again.", fields: fields)
        } catch let error as RootError {
            // All bytes are here, but the file can't be created: continuing the upload would not help.
            var refusal = HTTPError(error)
            version.addCompleteness(true, to: &refusal.fields)
            throw refusal
        }
    }

    private struct IncompleteUpload: Error {}

    /// Applies what an append says about the total length; returns a response when that is impossible.
    private func agreeOnLength(
        _ request: Request, _ upload: ResumableUpload, completes: Bool
    ) async throws -> Response? {
        var length = StructuredField.integer(request.fields["upload-length"])
        if completes, let coming = request.body.length {
            let (whole, overflow) = upload.offset.addingReportingOverflow(coming)
            guard !overflow, length == nil || length == whole else {
                return UploadProblem.inconsistentLength.response()
            }
            length = whole
        }
        guard let length else { return nil }
        return try await request.io.run { () throws -> Response? in
            do {
                try upload.declareLength(length)
                return nil
            } catch RootError.preconditionFailed {
                return UploadProblem.inconsistentLength.response()
            }
        }
    }

    /// The target of a creation: the address itself with PUT, a name in the folder there with POST.
    private func draftTarget(_ request: Request) async throws -> (SharePath, UploadNotes) {
        var notes: UploadNotes
        let target: SharePath
        if request.method == .put {
            guard !request.hasTrailingSlash else {
                throw HTTPError(.conflict, "A file's address has no last slash.")
            }
            target = request.path
            notes = UploadNotes(conditionsOf: request.fields)
        } else {
            let isStore = ReservedPlace(request.path) != nil
            let folder = isStore ? SharePath.root : request.path
            let attributes = try await request.io.run { try request.share.attributes(of: folder) }
            guard attributes.isDirectory else { throw RootError.notDirectory }
            target = try folder.appending(Self.filename(request.fields))
            notes = UploadNotes(rule: .keep)
        }
        if let field = request.fields["repr-digest"] { notes.digest = try ReprDigest(field: field) }
        return (target, notes)
    }

    /// The name in `Content-Disposition`, or a generic one.
    private static func filename(_ fields: RequestFields) -> [UInt8] {
        guard let field = fields["content-disposition"] else { return Array("upload".utf8) }
        let parameters = HeaderParameters(field.utf8)
        let name = parameters.extended("filename") ?? parameters["filename"] ?? []
        let last = name.split(separator: UInt8(ascii: "/")).last.map { Array($0) } ?? []
        return SharePath.isName(last) ? last : Array("upload".utf8)
    }

    /// The limits on an upload, and how long it is kept when nobody continues it.
    func limits(of request: Request, _ version: DraftVersion) -> String {
        let policy = request.share.root.policy
        return version.limits(maxSize: policy.maxUploadSize, secondsLeft: policy.uploadExpiry.components.seconds)
    }
}
