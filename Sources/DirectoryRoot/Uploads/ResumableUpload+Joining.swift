import CSyscalls

extension ResumableUpload {
    /// Appends all the bytes of another upload, inside the kernel where possible.
    func append(_ piece: ResumableUpload) throws(RootError) {
        try part.owned { () throws(RootError) in
            try FileCopy.append(0..<piece.offset, of: piece.part.file.number, to: part.file.number, at: offset)
            offset += piece.offset
        }
    }

    /// Makes the upload expire within the hour: its bytes are part of another one now.
    func giveUpSoon() throws(RootError) {
        let store = part.store
        guard store.expiry > UploadStore.remembersFinished else { return }
        let then = store.clock.wall().advanced(by: UploadStore.remembersFinished - store.expiry)
        var changed = record
        changed.touched = then
        try part.owned { () throws(RootError) in
            try part.write(changed)
            let stamped = sys_set_times(part.file.number, 0, -1, then.seconds, Int64(then.nanoseconds))
            try check(stamped, "futimens a part")
        }
        record = changed
    }
}

extension Share {
    /// The copy of an upload's bytes that will get its name, when that is on another file system below the root; nil
    /// when the part file itself will.
    /// - Parameters:
    ///   - part: the complete upload.
    ///   - target: from the root.
    ///   - replacing: what may be at the target.
    /// - Returns: the copy.
    /// - Throws: what forbids the name, before anything is copied; ``RootError/noSpace``; what the disks report.
    func copyAcross(
        _ part: UploadPart, for target: SharePath, replacing: Replacement
    ) throws(RootError) -> TemporaryFile? {
        let location = try locateTarget(target, followsLink: true)
        guard try isAcross(part, location) else { return nil }
        try requireFileTarget(location, asked: target, replacing)
        try root.requireSpace(for: part.length(), at: location.directory.number)
        let copy = try TemporaryFile(in: root, near: location.directory)
        try FileCopy.append(0..<part.length(), of: part.file.number, to: copy.descriptor, at: 0)
        return copy
    }

    private func isAcross(_ part: UploadPart, _ location: borrowing Location) throws(RootError) -> Bool {
        let there = try location.directory.status()
        return there.device != part.file.device || there.mount != part.file.mount
    }

    /// Whether an upload's bytes have to be copied to get their name.
    ///
    /// Waits for the disk.
    /// - Returns: false when they need not be, and when the target's folder does not exist.
    func isAcross(_ part: UploadPart, for target: SharePath) -> Bool {
        do throws(RootError) {
            return try isAcross(part, locateTarget(target, followsLink: true))
        } catch {
            return false
        }
    }

    /// Gives an upload's bytes their name, by the one way in which a file's content changes; if that fails, the
    /// received bytes stay where they are.
    /// - Parameters:
    ///   - part: the complete upload.
    ///   - copy: the result of ``copyAcross(_:for:replacing:)``.
    ///   - target: from the root.
    ///   - replacing: what may be at the target.
    ///   - modified: nil for now.
    /// - Returns: the new attributes, and whether the name is new.
    /// - Throws: as ``PendingUpload/commit()``.
    func commit(
        _ part: UploadPart, as copy: TemporaryFile?, to target: SharePath, replacing: Replacement, modified: Timestamp?
    ) throws(RootError) -> (attributes: FileAttributes, created: Bool) {
        if let copy {
            let result = try commit(copy, to: target, replacing: replacing, modified: modified, isDurable: true)
            // The copy has its name: a part that stays is removed with the record.
            _ = unsafe sys_unlinkat(part.folder.number, part.name, 0)
            return result
        }
        let place = ScratchPlace(
            directory: SharedDescriptor(try Descriptor(sys_dup(part.folder.number), "dup")), name: Array(part.name.utf8)
        )
        let file = TemporaryFile(
            adopting: try Descriptor(sys_dup(part.file.number), "dup"), named: place)
        do throws(RootError) {
            return try commit(file, to: target, replacing: replacing, modified: modified)
        } catch {
            file.giveUpName()
            // The file may have got the permission bits of one that nobody may write to. The part is open, so that the
            // upload can be continued here all the same.
            _ = sys_chmod(part.file.number, 0o600)
            part.isDamaged = file.isDamaged
            throw error
        }
    }
}
