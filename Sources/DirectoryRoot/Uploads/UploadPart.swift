import CSyscalls

/// The bytes of one upload, opened by whoever last stamped the record.
///
/// Used by one task at a time, like the ``ResumableUpload`` that it is part of.
final class UploadPart: @unchecked Sendable {
    let store: UploadStore
    let folder: IdentifiedDescriptor
    let id: String
    let file: IdentifiedDescriptor
    /// Whether the disk could not keep all of it when the upload was being finished.
    var isDamaged = false
    private var stamp = Timestamp(seconds: -1)
    private var generation: UInt64 = 0

    init(store: UploadStore, folder: IdentifiedDescriptor, id: String, file: IdentifiedDescriptor) {
        self.store = store
        self.folder = folder
        self.id = id
        self.file = file
    }

    var name: String { id + UploadStore.part }

    /// The file's status.
    func status() throws(RootError) -> sys_attributes { try sys_attributes(of: file.number, "fstat a part") }

    /// The number of bytes received.
    func length() throws(RootError) -> Int64 { Int64(clamping: try status().size) }

    /// Whether the open file is still the one under the part's name.
    func isNamed() -> Bool {
        var status = sys_attributes()
        return unsafe sys_statat(folder.number, name, &status) == 0 && file.isSame(as: status)
    }

    /// Runs `body` while nobody else writes, in whichever process.
    func locked<Answer>(_ body: () throws(RootError) -> Answer) throws(RootError) -> Answer {
        try StateLock.acquire(file.number, until: .now + StateFolder.patience)
        defer { _ = sys_lock(file.number, sys_lock_none, 0) }
        return try body()
    }

    /// The same, provided that nobody has taken the upload over.
    /// - Throws: ``RootError/takenOver`` when somebody has, or has removed it.
    func owned<Answer>(_ body: () throws(RootError) -> Answer) throws(RootError) -> Answer {
        try locked { () throws(RootError) in
            guard isOwn() else { throw .takenOver }
            return try body()
        }
    }

    /// Whether this object was the last to take the upload.
    func isOwn() -> Bool {
        var status = sys_attributes()
        return unsafe sys_statat(folder.number, id + UploadStore.record, &status) == 0
            && status.modificationTime == stamp
    }

    /// Takes the upload: its previous owner notices that at the next write.
    ///
    /// Called under the lock.
    func take(_ record: UploadRecord) throws(RootError) {
        stamp = Timestamp(
            seconds: Int64.random(in: 1_000_000...2_000_000_000), nanoseconds: Int32.random(in: 0..<1_000_000_000))
        try write(record)
    }

    /// Replaces the record without changing the owner.
    ///
    /// Called under the lock. Waits for the disk if the policy says so. But after a power cut, a small upload that was
    /// ending may be unknown although its bytes are there: that is not worth waiting for the disk with every small
    /// file.
    func write(_ record: UploadRecord, isEnding: Bool = false) throws(RootError) {
        generation &+= 1
        stamp = try store.replace(record, generation: generation, stamp: stamp, isEnding: isEnding, in: folder)
    }
}

extension UploadStore {
    /// Replaces an upload's whole record; under the lock of its part, if that exists.
    /// - Parameters:
    ///   - record: the new content.
    ///   - generation: of the record.
    ///   - stamp: its modification time, by which its owner recognises it.
    ///   - isEnding: whether it need not survive a power cut.
    ///   - folder: the folder of all uploads.
    /// - Returns: the stamp as the file system keeps it, which may be coarser.
    /// - Throws: what the disk reports.
    func replace(
        _ record: UploadRecord, generation: UInt64, stamp: Timestamp, isEnding: Bool, in folder: IdentifiedDescriptor
    ) throws(RootError) -> Timestamp {
        var payload: [UInt8] = []
        record.record.write(to: &payload)
        let bytes = StateEnvelope(generation: generation, payload: payload).encoded()
        let temporary = "\(record.id).new-\(StateFile.randomName())"
        _ = try StateFile.create(
            temporary, in: folder, bytes, generation: generation, waitsForDisk: state.waitsForDisk,
            survivesPowerCut: !isEnding)
        var kept = sys_attributes()
        do throws(RootError) {
            let stamped = unsafe sys_set_times_at(
                folder.number, temporary, 0, -1, stamp.seconds, Int64(stamp.nanoseconds))
            try checkState(stamped, "stamp an upload record", temporary)
            try unsafe checkState(
                sys_statat(folder.number, temporary, &kept), "statat an upload record", temporary)
            let name = record.id + Self.record
            try unsafe checkState(
                sys_renameat(folder.number, temporary, folder.number, name), "rename an upload record", name)
        } catch {
            // What can't be removed is a leftover, which the next sweep finds.
            _ = unsafe sys_unlinkat(folder.number, temporary, 0)
            throw error
        }
        if state.waitsForDisk, !isEnding { try WriteBack.waitForNames(in: folder.number) }
        return kept.modificationTime
    }
}
