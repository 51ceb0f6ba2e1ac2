import CSyscalls

/// An upload that can be gone on with after a lost connection, a killed server, or on another process.
///
/// Used by one task at a time. What was written stays when this object goes; only ``Share/removeUpload(id:)``, expiry
/// and ``finish(to:replacing:)`` end an upload. Somebody who resumes it takes it over: then every call here throws
/// ``RootError/takenOver``.
public final class ResumableUpload: @unchecked Sendable {
    /// What is known of it.
    public internal(set) var record: UploadRecord
    /// The bytes that have come, all of them in the file.
    public internal(set) var offset: Int64

    let share: Share
    let part: UploadPart
    /// Up to here the kernel was told to write back.
    private var flushed: Int64
    /// Up to here, but for the beginning, memory was given back.
    private var released: Int64
    private var settledAt: Duration
    /// Whether bytes are still counted of which the disk may have lost some.
    private var mayLack = false

    /// What a killed server has to be sent again is no more than this, about, and did not take longer to come.
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

    /// The moment at which the upload is given up when nobody goes on with it.
    public var expires: Timestamp { part.store.expires(record, in: part.folder) }

    /// So many bytes are there whatever becomes of this process.
    public var settled: Int64 { record.settled ?? 0 }

    /// Whether all the bytes have come.
    public var isComplete: Bool { record.length == offset }

    /// Says how many bytes will come in all, when that was not known before.
    ///
    /// - Throws: ``RootError/preconditionFailed`` when another number was said, or more has come;
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
    /// What fitted before an error stays.
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
        // None that a check sum has yet to prove.
        guard record.vouched == nil else { return }
        if part.store.clock.uptime() - settledAt >= Self.settleInterval.time {
            try settle()
        } else if flushed - (record.settled ?? 0) >= Self.settleInterval.bytes + WriteBehind.interval {
            // But for the bytes that were set in motion last, so that the disk is kept busy.
            try settle(upTo: flushed - WriteBehind.interval)
        }
    }

    /// Reads what has come, to hash it; 0 at the end.
    /// - Parameters:
    ///   - buffer: where to.
    ///   - position: from where.
    /// - Returns: the number of bytes.
    /// - Throws: what the disk says.
    public func read(into buffer: UnsafeMutableRawBufferPointer, at position: Int64) throws(RootError) -> Int {
        guard unsafe !buffer.isEmpty else { return 0 }
        return try unsafe check(sys_pread(part.file.number, buffer.baseAddress, buffer.count, position), "pread")
    }

    /// Notes that what comes next counts only when ``settle()`` says so: whoever goes on with the upload before, on
    /// whichever process, finds it as it is now.
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

    /// Drops what came after the first `length` bytes: a piece whose check sum was wrong.
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

    /// Has the disk take what has come, and notes it: at the end of each request, before the offset is told.
    ///
    /// Where the policy says so, it is waited for that a power cut can't undo it; otherwise a power cut may take the
    /// note back, but leaves none of bytes that are not there. What a check sum had to prove is proven.
    public func settle() throws(RootError) { try settle(upTo: offset) }

    private func settle(upTo end: Int64) throws(RootError) {
        // What the disk could not keep is said to one that asks: it must be the one who goes on.
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

    /// Gives back the memory of what the disk has; see ``WriteBehind``.
    private func release(upTo end: Int64) {
        guard end > released else { return }
        // Only a comfort.
        _ = sys_will_not_need(part.file.number, released, end - released)
        released = end
    }

    /// Drops what was not waited for when the disk could not keep all of it: asked again, the system would not say so.
    private func dropUnsettled() {
        let kept = min(settled, offset)
        let dropped: Void? = try? part.owned { () throws(RootError) in
            // Under another name it is no part of an upload any more, but somebody's file.
            guard part.isNamed() else { throw .unknownToken }
            _ = try check(sys_truncate(part.file.number, kept), "ftruncate a part")
        }
        mayLack = dropped == nil
        if mayLack {
            // Who goes on with it, in whichever process, does so from where it is whole.
            if part.isNamed() { try? note(vouched: min(record.vouched ?? kept, kept)) }
            return
        }
        offset = kept
        flushed = min(flushed, kept)
    }

    /// - Throws: the error of a disk where bytes that it lost could not be dropped before.
    private func requireNothingLost() throws(RootError) {
        guard mayLack else { return }
        dropUnsettled()
        throw .system(errno: EIO, call: "write back a part")
    }

    /// Whether ``finish(to:replacing:)`` takes as long as a copy of all that has come, since the name is on another
    /// file system.
    ///
    /// Waits for the disk.
    public func isCopiedToFinish() -> Bool { record.target.map { share.isAcross(part, for: $0) } ?? false }

    /// Puts the content under its name: as the commit of a PUT, with the same rules.
    ///
    /// On a failure everything that has come stays, but for what the disk could not keep, and finishing can be tried
    /// again.
    /// - Parameters:
    ///   - path: another name than the one announced (to keep both); nil for that one.
    ///   - replacing: what may be there.
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
            // The name of a copy stays until its disk can say whether it has it.
            guard part.isNamed(), !record.isCopy else { throw error }
            // For another process, too, all of it is there.
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
            // By this it is known for done when it has its name and nobody is left to say so.
            let status = if let copy { try copy.status() } else { try part.status() }
            ending.phase = .committing(
                inode: status.inode, device: status.device, born: status.birthTime, isCopy: copy != nil)
            // What takes its time, and was told to have come, must be known after a power cut.
            try part.write(ending, isEnding: copy == nil && offset <= WriteBehind.interval)
            do throws(RootError) {
                let (attributes, created) = try share.commit(
                    part, as: copy, to: target, replacing: replacing, modified: record.modified)
                ending.phase = .finished(entityTag: attributes.entityTag.text, created: created)
                ending.touched = part.store.clock.wall()
                record = ending
                // The file has its name whatever happens now: a record that could not be replaced is one of a commit
                // that the inode shows to be done.
                _ = try? part.write(ending, isEnding: true)
                return (attributes, created)
            } catch {
                // What has its name already is finished for whoever asks, whatever other name it has.
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
