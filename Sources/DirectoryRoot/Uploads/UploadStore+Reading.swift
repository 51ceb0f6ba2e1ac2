import CSyscalls

extension UploadStore {
    /// Far more than any record has.
    private static let mostRecordBytes: UInt64 = 1 << 20

    /// The upload's folder and record, unless it has expired.
    func find(_ id: String) throws(RootError) -> (folder: IdentifiedDescriptor, record: UploadRecord)? {
        guard Self.isID(id), let folder = try state.subfolder(Self.folder, creating: false),
            let record = try read(id, in: folder), !isOver(record, in: folder)
        else { return nil }
        return (folder, record)
    }

    /// All unexpired uploads, in no order, with the number of bytes received; except those whose records can't be read,
    /// such as those of an earlier start as another user.
    /// - Parameter age: how long ago unfinished uploads may have received their last bytes; nil for all.
    /// - Returns: the uploads.
    /// - Throws: what the disk reports for their folder.
    func all(within age: Duration? = nil) throws(RootError) -> [UploadProgress] {
        guard let folder = try state.subfolder(Self.folder, creating: false) else { return [] }
        var found: [UploadProgress] = []
        for name in try StateFolder.names(in: folder) where name.hasSuffix(Self.record) {
            let id = String(name.dropLast(Self.record.count))
            guard Self.isID(id), let record = try? read(id, in: folder), !isOver(record, in: folder) else { continue }
            var status = sys_attributes()
            let isThere = unsafe sys_statat(folder.number, id + Self.part, &status) == 0
            // Without bytes and not marked as finished: a process was killed at the very end, and the upload is done.
            guard isThere || record.isFinished else { continue }
            if let age, isThere, !goesOn(record, status, within: age), !isHeld(id, in: folder) { continue }
            let offset = isThere ? record.proven(of: Int64(clamping: status.size), for: process) : 0
            found.append(UploadProgress(record: record, offset: offset))
        }
        return found
    }

    /// Whether somebody is finishing it, which may take a while: by a copy to another disk.
    private func isHeld(_ id: String, in folder: IdentifiedDescriptor) -> Bool {
        let opened = unsafe sys_openat(folder.number, id + Self.part, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0)
        guard opened >= 0 else { return false }
        let part = Descriptor(owning: opened)
        return sys_is_locked(part.number) == 1
    }

    private func goesOn(_ record: UploadRecord, _ part: sys_attributes, within age: Duration) -> Bool {
        let now = clock.wall()
        // Bytes that could not get their name have the modification time that the file was to get.
        let written = part.modificationTime <= now ? part.modificationTime : record.touched
        return max(record.touched, written).advanced(by: age) >= now
    }

    /// The record of an upload; nil when there is none, or it is damaged: then it is kept under another name.
    func read(_ id: String, in folder: IdentifiedDescriptor) throws(RootError) -> UploadRecord? {
        let bytes: [UInt8]
        do throws(RootError) {
            guard let found = try StateFile.bytes(of: id + Self.record, in: folder, upTo: Self.mostRecordBytes) else {
                return nil
            }
            bytes = found
        } catch  where error.isDamage {
            setAside(id, in: folder)
            return nil
        }
        do {
            guard let line = try StateRecord.all(in: StateEnvelope(file: bytes).payload).first else {
                throw DamagedState()
            }
            return try UploadRecord(line, id: id)
        } catch {
            // The final record of an upload is not synced: after a power cut it may contain only zeros.
            if !state.isReadOnly, bytes.allSatisfy({ $0 == 0 }) {
                // If it can't be removed, it is ignored the next time too.
                _ = unsafe sys_unlinkat(folder.number, id + Self.record, 0)
                return nil
            }
            setAside(id, in: folder)
            return nil
        }
    }

    private func setAside(_ id: String, in folder: IdentifiedDescriptor) {
        let kept = "\(id).damaged"
        let isKept =
            unsafe !state.isReadOnly && sys_renameat(folder.number, id + Self.record, folder.number, kept) == 0
        // If it keeps its name, it is examined again; or another process may have moved it.
        if isKept { state.incidents.report(.damagedFile(name: id + Self.record, keptAs: kept)) }
    }

    private static func isID(_ id: String) -> Bool {
        id.utf8.count == 32
            && id.utf8.allSatisfy {
                (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
                    || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0)
            }
    }
}
