internal import DirectoryRoot
internal import ServerCore

extension DAVRequest {
    /// Replaces or appends bytes of a file, in a copy that takes the file's place when every byte has been received.
    ///
    /// As SabreDAV and dufs do it: `X-Update-Range: append`, `bytes=first-last`, `bytes=first-`, `bytes=-last`.
    func patch() async throws -> Response {
        if let algorithm = request.fields["x-recalculate-hash"] { return try await recalculate(algorithm) }
        let range = try updateRange()
        let digests = try UploadDigests(
            reprDigest: nil, contentDigest: request.fields["content-digest"], ocChecksum: nil,
            isEncoded: request.body.isEncoded)
        let entry = try await openToPatch()
        let old = entry.attributes
        let start = try start(of: range, in: old.size)
        let length = request.body.length
        if case .from(let first, let last?, _) = range, let length, request.fields["content-encoding"] == nil,
            length != last - first + 1
        {
            throw Self.otherLength
        }
        let upload = try await request.io.copying(start) { [share] in
            // If the end is not known, the most that the upload may need is reserved.
            let isKnown = length != nil && !request.body.isEncoded
            let (end, overflow) = (isKnown ? start : max(old.size, start)).addingReportingOverflow(length ?? 0)
            guard !overflow else { throw RootError.tooLarge }
            let upload = try share.beginUpload(
                to: path, replacing: .when { $0?.entityTag == old.entityTag }, size: max(old.size, end))
            try upload.begin(with: start, of: entry)
            // An empty one may only seem so, which is looked at when it is replaced.
            upload.losesNothing = start == old.size && start > 0
            return upload
        }
        do {
            let received = try await receive(into: upload, digests)
            let end = upload.written
            return try await request.io.copying(old.size - end) {
                try received.check()
                try received.check(encoded: request.body)
                if case .from(let first, let last?, _) = range, end != last + 1 || end < first {
                    throw Self.otherLength
                }
                try upload.end(as: entry)
                let (attributes, _) = try upload.commit()
                let fields: ResponseFields = [
                    "ETag": attributes.entityTag.text, "Last-Modified": HTTPDate.text(attributes.modified.seconds),
                ]
                return Response(.noContent, fields: fields)
            }
        } catch {
            upload.abandon()
            throw error
        }
    }

    private static let otherLength = HTTPError(
        .badRequest, "The body must be as long as the range that it replaces.")

    private func openToPatch() async throws -> Entry {
        try await onDiskIfConditionsHold(needsTarget: true) { share in
            let entry = try share.open(path)
            guard !entry.attributes.isDirectory else {
                throw notAllowed("A folder is at this address.", for: entry.attributes)
            }
            try requireFolderBehindSlash(entry.attributes)
            // The commit compares with the file that was opened.
            guard conditions.evaluate(entry.attributes, isRead: false) == .proceed else {
                throw RootError.preconditionFailed
            }
            return entry
        }
    }

    /// Computes and stores a checksum of the file's content.
    ///
    /// As Nextcloud does: rclone asks for it after it has set a file's time, and counts a refusal as a failed sync.
    private func recalculate(_ name: String) async throws -> Response {
        guard let algorithm = OwnCloudChecksum.Algorithm(rawValue: name.lowercased()), algorithm != .adler32 else {
            throw HTTPError(.badRequest, "X-Recalculate-Hash is one of sha1, md5 and sha256.")
        }
        // It has no meaning, but some clients send one.
        _ = try await body()
        let entry = try await onDiskIfConditionsHold(needsTarget: true) { share in
            let entry = try share.open(path)
            // Fails for a requester that may not store the checksum, before the file is read.
            if !entry.attributes.isDirectory {
                try share.updateChecksums(of: path, [:], for: entry.attributes.entityTag)
            }
            return entry
        }
        guard !entry.attributes.isDirectory else {
            throw notAllowed("A folder is at this address.", for: entry.attributes)
        }
        request.endWithClient()
        let made = try await ReprDigest(of: entry, algorithm.digest, io: request.io, isKept: true)
        let digest = made.digests[algorithm.digest]
        let sums = [algorithm.rawValue: digest ?? []]
        try await onDiskIfConditionsHold(needsTarget: true) { share in
            try share.updateChecksums(of: path, sums, for: entry.attributes.entityTag)
        }
        return Response(.noContent, fields: ["OC-Checksum": OwnCloudChecksum.text(of: sums)])
    }

    private static let partialUpdate = "application/x-sabredav-partialupdate"
    /// For resumable uploads that begin here: the value of `Accept-Patch` where there is no file.
    static let partialUpload = "application/partial-upload"
    /// The value of `Accept-Patch` of a file.
    static let acceptedPatches = partialUpdate + ", " + partialUpload

    private func updateRange() throws -> UpdateRange {
        if let header = request.fields["x-update-range"] { return try UpdateRange(updateRange: header) }
        guard let header = request.fields["content-range"] else {
            // A document of another type describes its changes itself. RFC 5789 §2.2
            let isPart = request.fields["content-type"].map { $0.lowercased().hasPrefix(Self.partialUpdate) } ?? true
            throw HTTPError(
                isPart ? .badRequest : .unsupportedMediaType,
                "PATCH needs X-Update-Range to say which bytes it replaces: append, or bytes=first-last.",
                fields: ["Accept-Patch": Self.acceptedPatches])
        }
        return try UpdateRange(contentRange: header)
    }

    /// - Throws: 416 when the range begins beyond the end, since files get no holes, and when the file is larger than
    ///   the client states; it may be smaller, since the client may still send the rest.
    private func start(of range: UpdateRange, in size: Int64) throws -> Int64 {
        if case .from(_, _, let whole?) = range, size > whole {
            throw HTTPError(
                .rangeNotSatisfiable, "The file is longer than the Content-Range field says.",
                fields: ["Content-Range": "bytes */\(size)"])
        }
        let start =
            switch range {
            case .append: size
            case .from(let first, _, _): first
            case .suffix(let count): size - min(count, size)
            }
        guard start <= size else {
            throw HTTPError(
                .rangeNotSatisfiable, "The range begins behind the end of the file.",
                fields: ["Content-Range": "bytes */\(size)"])
        }
        return start
    }
}
