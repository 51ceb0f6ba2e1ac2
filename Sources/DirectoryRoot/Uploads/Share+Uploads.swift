import CSyscalls

extension Share {
    /// Begins an upload that can be continued later.
    ///
    /// Checks everything that its end will check, so that a hopeless upload does not begin.
    /// - Parameter spec: what the client wants.
    /// - Returns: the empty upload.
    /// - Throws: ``RootError/tooMany`` at the limit of uploads; ``RootError/tooManyUploads`` when the requester has as
    ///   many as there are places left; ``RootError/overLimit(_:)``; ``RootError/noSpace``; and as
    ///   ``beginUpload(to:replacing:size:)``.
    public func createUpload(_ spec: UploadSpec) throws(RootError) -> ResumableUpload {
        try createUpload(spec, parts: [])
    }

    /// Begins an upload with the concatenated bytes of finished partial ones.
    ///
    /// The partial uploads expire within the hour, and sooner where others need their places.
    ///
    /// - Parameters:
    ///   - parts: the ids of the partial uploads.
    ///   - spec: what the client wants; the length is the sum of the parts.
    /// - Returns: the complete upload, ready to be finished.
    /// - Throws: ``RootError/unknownToken`` when a part does not exist; ``RootError/preconditionFailed`` when one is
    ///   incomplete or not partial; and as ``createUpload(_:)``.
    public func joinUploads(_ parts: [String], as spec: UploadSpec) throws(RootError) -> ResumableUpload {
        try root.state.uploads.joined.joining(parts) { () throws(RootError) in try join(parts, as: spec) }
    }

    private func join(_ parts: [String], as spec: UploadSpec) throws(RootError) -> ResumableUpload {
        var pieces: [ResumableUpload] = []
        var length: Int64 = 0
        for id in parts {
            let piece = try resumeUpload(id: id)
            guard piece.record.isPartial, piece.isComplete else { throw .preconditionFailed }
            let (sum, overflow) = length.addingReportingOverflow(piece.offset)
            guard !overflow else { throw .tooLarge }
            length = sum
            pieces.append(piece)
        }
        var spec = spec
        spec.length = length
        let upload = try createUpload(spec, parts: parts)
        do throws(RootError) {
            for piece in pieces { try upload.append(piece) }
            try upload.settle()
            for piece in pieces { try piece.giveUpSoon() }
        } catch {
            try removeUpload(id: upload.id)
            throw error
        }
        return upload
    }

    /// Continues an upload, and takes it over from a connection that may still hold it.
    ///
    /// Waits until all received bytes are safe: a client that is told how many there are need not keep them.
    /// - Parameter id: as returned by ``createUpload(_:)``.
    /// - Returns: the upload.
    /// - Throws: ``RootError/unknownToken`` when there is none, or it has expired, is finished (see ``upload(id:)``),
    ///   or belongs to somebody else.
    public func resumeUpload(id: String) throws(RootError) -> ResumableUpload {
        guard !root.policy.isReadOnly else { throw .readOnly }
        try requireRoomToKeepOpen()
        // Bytes that have their name are a file, even if the part file's name still exists.
        let (part, record) = try root.state.uploads.open(id) { record throws(RootError) in
            guard mayTouch(record) else { return false }
            return try asking(about: record) { named(record) == nil }
        }
        let upload = try ResumableUpload(share: self, part: part, record: record)
        if upload.settled < upload.offset { try upload.settle() }
        return upload
    }

    /// The state of an upload, without taking it over; the only way to ask about a finished one.
    ///
    /// If an upload whose copy is on another disk is found to have its name, waits until that disk has it.
    /// - Throws: ``RootError/unknownToken`` when there is none, or it has expired or belongs to somebody else; what
    ///   that disk reports; ``RootError/tooMany`` while another request waits for it.
    public func upload(id: String) throws(RootError) -> UploadProgress {
        guard let (folder, found) = try root.state.uploads.find(id), mayTouch(found) else { throw .unknownToken }
        if let finished = try settled(found) { return UploadProgress(record: finished, offset: finished.length ?? 0) }
        var status = sys_attributes()
        if unsafe sys_statat(folder.number, id + UploadStore.part, &status) == 0 {
            let offset = found.proven(of: Int64(clamping: status.size), for: root.state.uploads.process)
            return UploadProgress(record: found, offset: offset)
        }
        throw .unknownToken
    }

    /// Removes an upload, with all its bytes.
    /// - Throws: ``RootError/unknownToken`` when there is none, or it has expired or belongs to somebody else.
    public func removeUpload(id: String) throws(RootError) {
        guard !root.policy.isReadOnly else { throw .readOnly }
        guard let found = try root.state.uploads.find(id)?.record, mayTouch(found) else { throw .unknownToken }
        try root.state.uploads.remove(id)
    }

    /// The uploads in progress below a folder where this requester may read, with targets relative to ``base``: the
    /// resumable ones of all processes that received bytes within the last minute, and those that this process receives
    /// in one request.
    public func uploadsInProgress(below path: SharePath) throws(RootError) -> [UploadProgress] {
        let folder = try absolute(path)
        return try (root.state.uploads.all(within: .seconds(60)) + root.writes.all()).compactMap { progress in
            guard let target = progress.record.target, folder.isAncestor(of: target),
                granted(at: target).contains(.read), let shown = target.relative(to: base), isUnnamed(progress.record)
            else { return nil }
            var progress = progress
            progress.record.target = shown
            return progress
        }
    }

    // MARK: -

    private func createUpload(_ spec: UploadSpec, parts: [String]) throws(RootError) -> ResumableUpload {
        guard !root.policy.isReadOnly else { throw .readOnly }
        guard spec.length ?? 0 >= 0 else { throw .preconditionFailed }
        var target: SharePath?
        var file: TemporaryFile?
        if let path = spec.target {
            let full = try writable(path, orElse: .isDirectory)
            let location = try locateTarget(full, followsLink: true)
            try requireFileTarget(location, asked: full, spec.replacing)
            try ask(.upload(full))
            // It may be on another disk than the one that holds the bytes until they are complete.
            try root.requireSpace(for: spec.length ?? 0, at: location.directory.number)
            target = full
            // What the folder gives, such as a group that this process is no member of, can't always be given later.
            if root.abilities.unnamedFiles, FileMetadata.givesRights(location.directory.number) {
                file = try? TemporaryFile(in: root, near: location.directory)
            }
        } else {
            // A partial upload takes space as others do: only for requesters who may write somewhere.
            guard rights.rules.contains(where: { !$0.rights.isDisjoint(with: [.create, .overwrite]) }) else {
                throw .forbidden
            }
        }
        try requireUploadRoom(spec.length ?? 0, alreadyHere: 0, at: root.descriptor)
        try requireRoomToKeepOpen()
        let now = root.state.clock.wall()
        let record = UploadRecord(
            id: StateFile.randomName(), target: target, length: spec.length, notes: spec.notes,
            modified: spec.modified, mediaType: spec.mediaType, isPartial: target == nil, parts: parts, user: user,
            client: user == nil ? spec.client : nil, settled: 0, writer: root.state.uploads.process, created: now,
            touched: now, phase: .receiving)
        let part = try root.state.uploads.create(record, from: file)
        return try ResumableUpload(share: self, part: part, record: record)
    }

    /// Refuses an upload that is over the limit, or would not fit.
    func requireUploadRoom(_ length: Int64, alreadyHere: Int64, at descriptor: Int32) throws(RootError) {
        try root.policy.requireSize(length)
        try root.requireSpace(for: length - alreadyHere, at: descriptor)
    }

    /// ``writable(_:orElse:)`` for a path that is already relative to the root.
    func writableFromRoot(_ path: SharePath) throws(RootError) -> SharePath {
        guard let own = path.relative(to: base) else { throw .forbidden }
        return try writable(own, orElse: .isDirectory)
    }

    private func mayTouch(_ record: UploadRecord) -> Bool {
        guard record.user == nil || record.user == user else { return false }
        return record.target.map { base.contains($0) } ?? true
    }

    /// The record of an upload whose bytes have their name: finished or, when a process was killed between the rename
    /// and recording it, found to be; nil for all others.
    /// - Throws: what the copy's disk reports if it can't keep it; ``RootError/tooMany`` while another request waits
    ///   for that disk.
    private func settled(_ record: UploadRecord) throws(RootError) -> UploadRecord? {
        try asking(about: record) { () throws(RootError) in
            guard let settled = named(record) else { return nil }
            if record.isCopy, let target = record.target { try root.resolver.secure(target) }
            return settled
        }
    }

    private func isUnnamed(_ record: UploadRecord) -> Bool {
        do throws(RootError) {
            return try asking(about: record) { named(record) == nil }
        } catch {
            // The copy's disk has not confirmed it yet.
            return true
        }
    }

    /// Runs `body`, which waits for the disk of an upload's copy, within the limit for that; without a copy, just runs
    /// it.
    private func asking<Answer>(
        about record: UploadRecord, _ body: () throws(RootError) -> Answer
    ) throws(RootError) -> Answer {
        record.isCopy ? try root.state.uploads.asking(about: record.id, body) : try body()
    }

    /// The same, whether or not the name is durable already.
    private func named(_ record: UploadRecord) -> UploadRecord? {
        if record.isFinished { return record }
        guard let tag = record.doneTag({ try? look(at: $0, waiting: true).status }) else { return nil }
        var record = record
        record.phase = .finished(entityTag: tag, created: false)
        return record
    }
}
