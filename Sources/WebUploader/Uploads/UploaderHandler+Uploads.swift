import DirectoryRoot
import ServerCore

extension UploaderHandler {
    /// `/.shareserve/uploads` and the uploads below it, with either of the two protocols.
    func uploads(_ request: Request, at place: ReservedPlace) -> Answer {
        let isDraft = DraftVersion.isSpoken(in: request.fields) || isPartialUpload(request)
        let method = effectiveMethod(request)
        switch (place.components.count, method) {
        case (1, .options), (2, .options):
            return .now(uploadOptions(request, isCollection: place.components.count == 1))
        case (1, .post) where isDraft: return draft { [self] in try await createDraft($0) }
        case (1, .post): return tus(request) { [self] in try await createTus($0) }
        case (2, .head) where isDraft: return .later { [self] in try await draftState($0, place.components[1]) }
        case (2, .head):
            return tus(request, needsVersion: false) { [self] in try await tusState($0, place.components[1]) }
        case (2, .patch) where isDraft: return draft { [self] in try await appendDraft($0, place.components[1]) }
        case (2, .patch): return tus(request) { [self] in try await appendTus($0, place.components[1]) }
        case (2, .delete) where isDraft: return .later { [self] in try await cancelDraft($0, place.components[1]) }
        case (2, .delete):
            return tus(request, needsVersion: false) { [self] in try await terminateTus($0, place.components[1]) }
        case (1, _) where !method.isKnown, (2, _) where !method.isKnown: return .pass
        case (1, _), (2, _):
            var refusal = HTTPError(
                .methodNotAllowed, "An upload does not know that method.",
                fields: ["Allow": place.components.count == 1 ? "POST, OPTIONS" : "HEAD, PATCH, DELETE, OPTIONS"])
            if !isDraft { refusal.fields["Tus-Resumable"] = Self.tusVersion }
            return .now(Response(refusal))
        default: return .now(Response(HTTPError(.notFound, "There is no such upload.")))
        }
    }

    /// Whether a request at any address begins a resumable upload.
    func beginsUpload(_ request: Request) -> Bool {
        guard request.method == .put || request.method == .post, request.fields.tellsCompleteness else { return false }
        // A complete form does not need this, and only the form parser understands it.
        return request.fields["content-type"]?.lowercased().hasPrefix("multipart/form-data") != true
    }

    /// The method that was meant: browsers and proxies without PATCH send POST and override it.
    private func effectiveMethod(_ request: Request) -> Method {
        guard request.method == .post, let meant = request.fields["x-http-method-override"] else {
            return request.method
        }
        return Method(rawValue: meant)
    }

    private func isPartialUpload(_ request: Request) -> Bool {
        request.fields["content-type"]?.lowercased().hasPrefix("application/partial-upload") == true
    }

    /// The address of an upload.
    func uploadAddress(_ id: String, _ request: Request) -> String { request.prefix + "/.shareserve/uploads/" + id }

    private func uploadOptions(_ request: Request, isCollection: Bool) -> Response {
        var fields: ResponseFields = [
            "Allow": isCollection ? "POST, OPTIONS" : "HEAD, PATCH, DELETE, OPTIONS",
            "Tus-Resumable": Self.tusVersion, "Tus-Version": Self.tusVersion,
            "Tus-Extension": "creation,creation-with-upload,creation-defer-length,checksum,termination,expiration,"
                + "concatenation",
            "Tus-Checksum-Algorithm": ChunkChecksum.algorithms, "Accept-Patch": "application/partial-upload",
        ]
        let limit = request.share.root.policy.maxUploadSize
        fields["Tus-Max-Size"] = limit.map { String($0) }
        fields["Upload-Limit"] = DraftVersion.assumed(request.fields).limits(maxSize: limit, secondsLeft: nil)
        return Response(.noContent, fields: fields)
    }

    /// Runs what begins an upload; for a full disk, the response says how much space is missing.
    func beginning<Answer: Sendable>(
        _ request: Request, length: Int64?, io: IOPool? = nil, _ work: @escaping @Sendable () throws -> Answer
    ) async throws -> Answer {
        do {
            return try await (io ?? request.io).run(work)
        } catch RootError.noSpace {
            let share = request.share
            // Something else may be short: a user's quota, or an inode for one more file.
            guard let length, let room = try? await request.io.run({ try share.space(at: .root)?.available }),
                length > room
            else { throw RootError.noSpace }
            var writer = TextWriter()
            writer.raw("The disk has no room for this: it needs ")
            writer.size(length)
            writer.raw(", and ")
            writer.size(room)
            writer.raw(" are free. Free some space and try again.")
            throw HTTPError(.insufficientStorage, String(decoding: writer.take(), as: UTF8.self))
        }
    }

    /// What is at the target of an upload before the bytes of a request come, which may take longer than their client
    /// stays.
    /// - Returns: nil where the bytes cannot complete the upload, and where that cannot be seen now: they are stored even
    ///   while the target's disk does not answer.
    func seenTarget(of upload: ResumableUpload, _ request: Request) async throws -> SeenTarget? {
        guard let path = upload.record.target?.relative(to: request.share.base) else { return nil }
        if let length = upload.record.length, let coming = request.body.length, coming < length - upload.offset {
            return nil
        }
        return try await seenTarget(request, io: request.io(finishing: upload)) { path }
    }

    /// The same for an upload that is not there yet.
    func seenTarget(
        _ request: Request, io: IOPool, at path: @escaping @Sendable () throws -> SharePath
    ) async throws -> SeenTarget? {
        guard (try? io.requireAnswering()) != nil else { return nil }
        return try await io.run(isCancellable: false) { SeenTarget(at: try path(), by: request) }
    }

    /// The fields for both protocols in the response to a finished upload.
    ///
    /// The file has its name by now, so nothing may turn this into an error: a digest that can't be computed is
    /// omitted, as for requesters who may upload files but not read them, and one that takes too long for a client that
    /// may be gone.
    func addFinished(_ finished: FinishedUpload, _ request: Request, to fields: inout ResponseFields) async {
        fields["ETag"] = finished.attributes.entityTag.text
        fields["Content-Location"] = request.href(finished.path, isDirectory: false)
        guard let algorithm = request.fields["want-repr-digest"].flatMap(ReprDigest.wanted) else { return }
        request.endWithClient(owingAnswer: true)
        let io = request.io(for: finished.path)
        guard let entry = try? await io.run({ try request.share.open(finished.path) }),
            // Otherwise it is somebody else's content by now, whose digest would be wrong.
            entry.attributes.entityTag == finished.attributes.entityTag
        else { return }
        fields["Repr-Digest"] = try? await ReprDigest(of: entry, algorithm, io: io).text
    }
}
