import CSyscalls
import Dispatch
import Synchronization

extension UploadStore {
    /// Completes the records of uploads whose bytes have their name, if a process was killed before it recorded that.
    ///
    /// At the start, and every minute: sooner or later another file will have the name. For copies on another disk,
    /// which may hang, waits no longer than most disks take; the work continues in the background.
    /// - Parameters:
    ///   - look: the status of what is at a path from the root; nil for nothing.
    ///   - secure: waits until what is there, and its name, are on the disk.
    /// - Throws: what the disk reports for the first record that could not be read or written, after all others are
    ///   done; an error of another disk may be thrown only by a later call.
    func settle(
        _ look: @escaping @Sendable (SharePath) -> sys_attributes?,
        securing secure: @escaping @Sendable (SharePath) throws(RootError) -> Void
    ) throws(RootError) {
        guard !state.isReadOnly, let folder = try state.subfolder(Self.folder, creating: false) else { return }
        var attempts = Attempts()
        var copies: [String] = []
        for name in try StateFolder.names(in: folder) where name.hasSuffix(Self.record) {
            let id = String(name.dropLast(Self.record.count))
            attempts.run { () throws(RootError) in
                guard let record = try read(id, in: folder) else { return }
                if record.isCopy {
                    copies.append(id)
                } else if record.doneTag(look) != nil {
                    try settle(id, in: folder, look, secure)
                }
            }
        }
        attempts.run { () throws(RootError) in
            try aside(copies) { [self] (id) throws(RootError) in
                if try read(id, in: folder)?.doneTag(look) != nil { try settle(id, in: folder, look, secure) }
            }
        }
        try attempts.finish()
    }

    /// Runs `settle` for each of these uploads on a thread of its own, unless that thread is still busy.
    /// - Throws: what went wrong since the last time that an error was thrown.
    private func aside(
        _ ids: [String], _ settle: @escaping @Sendable (String) throws(RootError) -> Void
    ) throws(RootError) {
        let isFree = settling.withLock { settling in
            guard !ids.isEmpty, !settling.isUnderWay else { return false }
            settling.isUnderWay = true
            return true
        }
        if isFree {
            let done = DispatchSemaphore(value: 0)
            let isStarted = OwnThread.start("settle") { [self] in
                var attempts = Attempts()
                for id in ids { attempts.run { () throws(RootError) in try settle(id) } }
                var failure: RootError?
                do throws(RootError) { try attempts.finish() } catch { failure = error }
                settling.withLock { $0 = (false, failure) }
                done.signal()
            }
            if isStarted {
                _ = done.wait(timeout: .now() + .seconds(1))
            } else {
                // The next sweep has another try.
                settling.withLock { $0.isUnderWay = false }
            }
        }
        let failure = settling.withLock { settling in
            defer { settling.failure = nil }
            return settling.failure
        }
        if let failure { throw failure }
    }

    private func settle(
        _ id: String, in folder: IdentifiedDescriptor, _ look: (SharePath) -> sys_attributes?,
        _ secure: (SharePath) throws(RootError) -> Void
    ) throws(RootError) {
        // If the bytes have both names, whoever is finishing the upload may still be alive, and holds the lock.
        let opened = Self.openPart(id, in: folder)
        guard opened >= 0 || opened == -ENOENT else { return }
        let part = opened < 0 ? nil : try IdentifiedDescriptor(adopting: opened, "fstat state")
        if let part, sys_lock(part.number, sys_lock_exclusive, 0) != 0 { return }
        defer { if let part { _ = sys_lock(part.number, sys_lock_none, 0) } }
        guard var record = try read(id, in: folder), let entityTag = record.doneTag(look) else { return }
        // What the other disk can't keep is still here, and is checked again later.
        if record.isCopy, part != nil, let target = record.target { try secure(target) }
        record.phase = .finished(entityTag: entityTag, created: false)
        record.touched = clock.wall()
        _ = try replace(record, generation: 1, stamp: record.touched, isEnding: true, in: folder)
        // What can't be removed now is removed with the record.
        _ = unsafe sys_unlinkat(folder.number, id + Self.part, 0)
    }
}

extension UploadRecord {
    /// Whether an upload that was about to get its name when the record was written has it.
    /// - Parameter look: the status of what is at a path from the root; nil for nothing.
    /// - Returns: its entity tag if so; nil for all others.
    func doneTag(_ look: (SharePath) -> sys_attributes?) -> String? {
        guard case .committing(let inode, let device, let born, let isCopy) = phase, let target,
            let status = look(target), status.inode == inode, born == nil || born == status.birthTime
        else { return nil }
        // Another disk may have another device number after it was mounted again.
        let isSame = isCopy && born != nil && length == Int64(clamping: status.size)
        guard status.device == device || isSame else { return nil }
        return FileAttributes(status)?.entityTag.text
    }
}
