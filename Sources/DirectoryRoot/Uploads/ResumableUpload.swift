import CSyscalls

/// An upload that can be continued after a lost connection, a killed server, or on another process.
///
/// Used by one task at a time. What was written stays when this object is released; only ``Share/removeUpload(id:)``,
/// expiry and ``finish(to:replacing:)`` end an upload. A client that resumes it takes it over: then every call here
/// throws ``RootError/takenOver``.
public final class ResumableUpload: @unchecked Sendable {
    /// The upload's metadata and state.
    public internal(set) var record: UploadRecord
    /// The number of bytes received, all of them in the file.
    public internal(set) var offset: Int64

    let share: Share
    let part: UploadPart
    /// The kernel was asked to write back everything before this offset.
    private var flushed: Int64
    /// Up to this offset, except for the beginning of the file, page cache was released.
    private var released: Int64
    private var settledAt: Duration
    /// Whether bytes are still counted of which the disk may have lost some.
    private var mayLack = false

    /// About the most that a client has to send again after the server was killed, and the longest time that receiving
    /// it took.
    private static let settleInterval: (bytes: Int64, time: Duration) = (32 << 20, .seconds(5))

    init(share: Share, part: UploadPart, record: UploadRecord) throws(RootError) {
        self.share = share
        self.part = part
        self.record = record
        offset = try part.length()
        flushed = offset
        released = max(WriteBehind.keptInMemory, offset)
        settledAt = part.store.clock.uptime()
    }

    /// 32 hexadecimal digits that nobody can guess.
    public var id: String { record.id }

    /// When the upload expires if nobody continues it.
    public var expires: Timestamp { part.store.expires(record, in: part.folder) }

    /// The number of bytes that are safe whatever happens to this process.
    public var settled: Int64 { record.settled ?? 0 }

    /// Whether all the bytes were received.
    public var isComplete: Bool { record.length == offset }

    /// Sets the total number of bytes, if it was not known before.
    ///
    /// - Throws: ``RootError/preconditionFailed`` when another number was set, or more was received;
    ///   ``RootError/overLimit(_:)``; ``RootError/noSpace``.
    public func declareLength(_ length: Int64) throws(RootError) {
        if record.length == length { return }
        guard record.length == nil, length >= offset else { throw .preconditionFailed }
        try share.requireUploadRoom(length, alreadyHere: offset, at: part.file.number)
        var changed = record
        changed.length = length
        try part.owned { () throws(RootError) in try part.write(changed) }
        record = changed
    }

    /// Appends the bytes; waits for the disk.
    ///
    /// What was written before an error stays.
    ///
    /// - Throws: ``RootError/tooLarge`` for more than was announced, ``RootError/overLimit(_:)`` for more than is
    ///   allowed, before anything is written; ``RootError/noSpace``; ``RootError/takenOver`` when the upload was taken
    ///   over.
    public func write(_ bytes: UnsafeRawBufferPointer) throws(RootError) {
        let (end, overflow) = offset.addingReportingOverflow(Int64(bytes.count))
        guard !record.isFinished, !overflow, end <= record.length ?? .max else { throw .tooLarge }
        try share.root.policy.requireSize(end)
        try part.owned { () throws(RootError) in
            try unsafe writeAll(bytes, to: part.file.number, at: &offset)
        }
        if offset - flushed >= WriteBehind.interval {
            _ = sys_sync_range(part.file.number, flushed, offset - flushed, sys_sync_write)
            flushed = offset
            try share.root.requireSpace(for: 0, at: part.file.number)
        }
        // Bytes that a checksum has yet to verify are not settled.
        guard record.vouched == nil else { return }
        if part.store.clock.uptime() - settledAt >= Self.settleInterval.time {
            try settle()
        } else if flushed - (record.settled ?? 0) >= Self.settleInterval.bytes + WriteBehind.interval {
            // Except for the bytes whose writing was started last, so that the disk stays busy.
            try settle(upTo: flushed - WriteBehind.interval)
        }
    }

    /// Reads received bytes, to hash them; 0 at the end.
    /// - Parameters:
    ///   - buffer: the memory to read into.
    ///   - position: the offset to read from.
    /// - Returns: the number of bytes.
    /// - Throws: what the disk reports; ``RootError/takenOver``, so that only the last owner's work goes on.
    public func read(into buffer: UnsafeMutableRawBufferPointer, at position: Int64) throws(RootError) -> Int {
        guard unsafe !buffer.isEmpty else { return 0 }
        guard part.isOwn() else { throw .takenOver }
        return try unsafe check(sys_pread(part.file.number, buffer.baseAddress, buffer.count, position), "pread")
    }

    /// Notes that what comes next counts only after ``settle()``: if the upload is resumed before, on whichever
    /// process, it continues from where it is now.
    public func awaitProof() throws(RootError) { try note(vouched: offset) }

    private func note(vouched: Int64?) throws(RootError) {
        var changed = record
        changed.vouched = vouched
        try replace(changed)
    }

    private func replace(_ changed: UploadRecord) throws(RootError) {
        try part.owned { () throws(RootError) in try part.write(changed) }
        record = changed
    }

    /// Drops what came after the first `length` bytes: a chunk whose checksum was wrong.
    public func truncate(to length: Int64) throws(RootError) {
        guard length >= 0, length <= offset else { throw .preconditionFailed }
        if let settled = record.settled, settled > length {
            var changed = record
            changed.settled = length
            try replace(changed)
        }
        try part.owned { () throws(RootError) in
            guard part.isNamed() else { throw .unknownToken }
            _ = try check(sys_truncate(part.file.number, length), "ftruncate")
        }
        offset = length
        flushed = min(flushed, length)
        if record.vouched != nil { try note(vouched: nil) }
    }

    /// Waits until what was received is on the disk, and notes it: at the end of each request, before the offset is
    /// reported.
    ///
    /// If the policy says so, waits until a power cut can't undo it; otherwise a power cut may lose the note, but never
    /// leaves one about bytes that are not there. Bytes that awaited a checksum count as verified.
    public func settle() throws(RootError) { try settle(upTo: offset) }

    private func settle(upTo end: Int64) throws(RootError) {
        // The kernel reports a write error only once: it must be this owner who asks, and continues accordingly.
        guard part.isOwn() else { throw .takenOver }
        try requireNothingLost()
        do throws(RootError) {
            if end == offset {
                try WriteBack.wait(for: part.file.number, durably: share.root.policy.waitsForDisk)
            } else {
                try WriteBack.wait(for: part.file.number, upTo: end)
            }
        } catch {
            dropUnsettled()
            throw error
        }
        var changed = record
        changed.settled = end
        settledAt = part.store.clock.uptime()
        if end == offset { changed.vouched = nil }
        release(upTo: end)
        try replace(changed)
    }

    /// Releases the page cache of what is on the disk; see ``WriteBehind``.
    private func release(upTo end: Int64) {
        guard end > released else { return }
        // An optimisation only: errors do not matter.
        _ = sys_will_not_need(part.file.number, released, end - released)
        released = end
    }

    /// Drops what was not synced when the disk could not keep all of it: the kernel would not report the error again.
    private func dropUnsettled() {
        let kept = min(settled, offset)
        let dropped: Void? = try? part.owned { () throws(RootError) in
            // If it has another name, it is no longer part of an upload but somebody's file.
            guard part.isNamed() else { throw .unknownToken }
            _ = try check(sys_truncate(part.file.number, kept), "ftruncate a part")
        }
        mayLack = dropped == nil
        if mayLack {
            // Whoever continues it, in whichever process, then does so from where it is intact.
            if part.isNamed() { try? note(vouched: min(record.vouched ?? kept, kept)) }
            return
        }
        offset = kept
        flushed = min(flushed, kept)
    }

    /// - Throws: an I/O error if bytes that the disk lost could not be dropped before.
    private func requireNothingLost() throws(RootError) {
        guard mayLack else { return }
        dropUnsettled()
        throw .system(errno: EIO, call: "write back a part")
    }

    /// Whether ``finish(to:replacing:)`` takes as long as copying all the bytes, because the target is on another file
    /// system.
    ///
    /// Waits for the disk.
    public func isCopiedToFinish() -> Bool { record.target.map { share.isAcross(part, for: $0) } ?? false }

    /// Puts the content under its name: like the commit of a PUT, with the same rules.
    ///
    /// On a failure, all received bytes stay, except those that the disk could not keep, and finishing can be tried
    /// again.
    /// - Parameters:
    ///   - path: another name than the announced one (to keep both); nil for the announced one.
    ///   - replacing: what may be at the target.
    /// - Returns: the new attributes, and whether the name is new.
    /// - Throws: ``RootError/preconditionFailed`` when bytes are missing or the upload is partial; and as
    ///   ``PendingUpload/commit()``.
    public func finish(
        to path: SharePath? = nil, replacing: Replacement
    ) throws(RootError) -> (attributes: FileAttributes, created: Bool) {
        guard !record.isPartial, !record.isFinished, record.length == nil || isComplete else {
            throw .preconditionFailed
        }
        let target: SharePath
        if let path {
            target = try share.writable(path, orElse: .isDirectory)
        } else if let announced = record.target {
            target = try share.writableFromRoot(announced)
        } else {
            throw .preconditionFailed
        }
        try requireNothingLost()
        part.isDamaged = false
        do throws(RootError) {
            return try finish(as: target, replacing: replacing)
        } catch {
            // The named copy stays until its disk can tell whether it has it.
            guard part.isNamed(), !record.isCopy else { throw error }
            // Other processes must also know that all the bytes are there.
            if part.isDamaged { dropUnsettled() } else if settled < offset { try? settle() }
            throw error
        }
    }

    private func finish(
        as target: SharePath, replacing: Replacement
    ) throws(RootError) -> (attributes: FileAttributes, created: Bool) {
        try part.owned { () throws(RootError) in
            var ending = record
            ending.target = target
            ending.length = offset
            let copy = try share.copyAcross(part, for: target, replacing: replacing)
            // This shows that the upload is done if it has its name and this process was killed before it recorded
            // that.
            let status = if let copy { try copy.status() } else { try part.status() }
            ending.phase = .committing(
                inode: status.inode, device: status.device, born: status.birthTime, isCopy: copy != nil)
            // What takes long to receive, and was acknowledged, must still be known after a power cut.
            try part.write(ending, isEnding: copy == nil && offset <= WriteBehind.interval)
            do throws(RootError) {
                let (attributes, created) = try share.commit(
                    part, as: copy, to: target, replacing: replacing, modified: record.modified)
                ending.phase = .finished(entityTag: attributes.entityTag.text, created: created)
                ending.touched = part.store.clock.wall()
                record = ending
                // The file has its name whatever happens now: if the record can't be replaced, it says that the upload
                // is being committed, and the inode shows that this was completed.
                _ = try? part.write(ending, isEnding: true)
                part.store.joined.note(record.parts)
                return (attributes, created)
            } catch {
                // What has its name already is finished for every later request, even if the part file's name still
                // exists.
                if ending.doneTag({ try? share.look(at: $0, waiting: true).status }) != nil {
                    if copy == nil {
                        _ = unsafe sys_unlinkat(part.folder.number, part.name, 0)
                    } else {
                        record = ending
                    }
                } else if part.isNamed() {
                    _ = try? part.write(record)
                }
                throw error
            }
        }
    }
}
