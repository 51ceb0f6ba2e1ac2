internal import DirectoryRoot
internal import ServerCore

extension DAVRequest {
    /// Bodies of up to this many bytes are received before the disk is used, so that one visit to a disk thread
    /// suffices.
    static let smallBody: Int64 = 131_072

    /// Creates (201) or replaces (204) a file, whole or not at all.
    ///
    /// RFC 9110 §9.3.4, RFC 4918 §9.7.
    func put() async throws -> Response {
        do {
            return try await replaceTarget()
        } catch RootError.noSpace {
            throw try await onDisk { noRoom(in: $0) }
        }
    }

    /// The same with a small content that has been received; waits for the disk.
    func put(_ content: [UInt8]) throws -> Response {
        do {
            return try store(content, UploadPromises(request), replacing: conditions.replacement, in: share)
        } catch RootError.noSpace {
            throw noRoom(in: share)
        }
    }

    private func noRoom(in share: Share) -> HTTPError {
        var room = ""
        // Other limits may be the cause: a user's quota, or the number of inodes.
        if let length = request.body.length, let free = try? share.space(at: path.parent)?.available, length > free {
            room = " It has room for \(free) bytes; this has \(length)."
        }
        // What is deleted there still takes its space.
        let remedy = share.root.policy.trashDays > 0 ? "Empty the trash, on this share's page," : "Free some space"
        return HTTPError(.insufficientStorage, "The disk has no room for this.\(room) \(remedy) and try again.")
    }

    /// What would make a file is asked at an address that only a folder may have.
    static let fileBehindSlash = HTTPError(
        .conflict, "A file's address has no last slash. MKCOL makes a folder.")

    private func replaceTarget() async throws -> Response {
        let replacement = conditions.replacement
        guard Self.isWhole(request) else {
            throw HTTPError(
                .badRequest,
                "PUT takes whole files: begin anew, without a Content-Range (curl's -C). A part goes by PATCH.")
        }
        if path.isRoot || request.hasTrailingSlash {
            let target = try await onDisk { _ in try existing(path) }
            if let target, target.isDirectory { throw notAllowed("A folder is at this address.", for: target) }
            // A share that is one file has its own address, with or without the slash.
            guard target != nil, path.isRoot else {
                throw Self.fileBehindSlash
            }
        }
        let promises = try UploadPromises(request)
        let length = request.body.length
        // A body that is too large is refused before any of it is read.
        let mostBytes = request.share.root.policy.maxUploadSize ?? .max
        let isEncoded = request.fields["content-encoding"] != nil
        if let length, length <= min(Self.smallBody, mostBytes), request.fields["expect"] == nil, !isEncoded,
            request.body.reserve(Int(length))
        {
            // Remembers the locks that are in force before the body has come; the upload begins only after that, which
            // may be late within a rate limit.
            if let holds = share.precondition { _ = try await onDisk { _ in try holds() } }
            let before = request.body.isPaced ? try await seenTarget() : nil
            let bytes = try await request.body.collect(upTo: Int(Self.smallBody), reserved: Int(length))
            return try await onDisk { share in try store(bytes, promises, replacing: replacement, before, in: share) }
        }
        let upload = try await onDisk { share in
            try begin(replacing: replacement, size: isEncoded ? nil : length ?? promises.length, in: share)
        }
        do {
            let digests = try await receive(into: upload, promises.digests)
            return try await finish(upload, promises, digests)
        } catch {
            upload.abandon()
            throw error
        }
    }

    /// Whether a PUT has no `Content-Range`, or one that is the whole file: curl sends such a range when asked to
    /// resume a file of which the server has nothing.
    ///
    /// RFC 9110 §14.4, §14.5.
    static func isWhole(_ request: Request) -> Bool {
        guard let range = request.fields["content-range"] else { return true }
        guard let length = request.body.length, length > 0 else { return false }
        return range == "bytes 0-\(length - 1)/\(length)"
    }

    /// What is at the target before the body comes.
    /// - Returns: nil where that may not be seen.
    private func seenTarget() async throws -> SeenTarget? {
        do {
            return SeenTarget(try await onDisk { _ in try existing(path) }, by: request)
        } catch let error as RootError {
            if case .system = error { throw error }
            return nil
        }
    }

    private func store(
        _ content: [UInt8], _ promises: UploadPromises, replacing replacement: Replacement,
        _ before: SeenTarget? = nil, in share: Share
    ) throws -> Response {
        let upload = try begin(replacing: replacement, size: Int64(content.count), in: share)
        do {
            try unsafe content.withUnsafeBytes { try unsafe upload.write($0) }
            var digests = promises.digests
            digests.update(content)
            return try commit(upload, promises, digests, before, in: share)
        } catch {
            upload.abandon()
            throw error
        }
    }

    /// Writes the body to `upload`: by the shortest way, or through the digests if there are any.
    func receive(into upload: PendingUpload, _ promised: UploadDigests) async throws -> UploadDigests {
        promised.watch(request.body)
        guard !promised.isEmpty else {
            try await request.body.copy(to: upload)
            return promised
        }
        var digests = promised
        for try await bytes in request.body {
            digests.update(bytes)
            try await request.io.run { try unsafe bytes.withUnsafeBytes { try unsafe upload.write($0) } }
        }
        return digests
    }

    private func begin(replacing replacement: Replacement, size: Int64?, in share: Share) throws -> PendingUpload {
        do {
            return try share.beginUpload(to: path, replacing: replacement, size: size)
        } catch RootError.isDirectory {
            throw notAllowed("A folder is at this address.", for: try existing(path))
        }
    }

    private func finish(
        _ upload: PendingUpload, _ promises: UploadPromises, _ digests: UploadDigests
    ) async throws -> Response {
        try await onDisk { share in try commit(upload, promises, digests, in: share) }
    }

    /// Checks the content against what the client announced, and gives the file its name.
    private func commit(
        _ upload: PendingUpload, _ promises: UploadPromises, _ digests: UploadDigests, _ before: SeenTarget? = nil,
        in share: Share
    ) throws -> Response {
        try promises.check(written: upload.written)
        try digests.check()
        try digests.check(encoded: request.body)
        if let modified = promises.modified { upload.setModified(modified) }
        let seen = before ?? SeenTarget(upload.seen, by: request)
        let (attributes, created) = try upload.commit { seen.mayBeReplaced(now: $0) }
        let sums = promises.digests.kept
        if !sums.isEmpty {
            // An extra beside the file: if there is no space for it, the upload still succeeds.
            do { try share.setChecksums(sums, of: path, for: attributes.entityTag) } catch {}
        }
        return Response(created ? .created : .noContent, fields: promises.fields(after: attributes, digests))
    }
}
