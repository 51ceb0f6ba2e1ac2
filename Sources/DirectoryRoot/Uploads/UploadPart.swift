import CSyscalls

/// The bytes of one upload, open for whoever stamped the record last.
///
/// Used by one task at a time, like the ``ResumableUpload`` that it is part of.
final class UploadPart: @unchecked Sendable {
    let store: UploadStore
    let folder: IdentifiedDescriptor
    let id: String
    let file: IdentifiedDescriptor
    /// Whether the disk could not keep all of it when the upload was to be finished.
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

    /// What the file is now.
    func status() throws(RootError) -> sys_attributes { try sys_attributes(of: file.number, "fstat a part") }

    /// What has come.
    func length() throws(RootError) -> Int64 { Int64(clamping: try status().size) }

    /// Whether the open file still is the one under the part's name.
    func isNamed() -> Bool {
        var status = sys_attributes()
        return unsafe sys_statat(folder.number, name, &status) == 0 && file.isSame(as: status)
    }

    /// Runs `body` while nobody else writes, in whichever process.
    func locked<Answer>(_ body: () throws(RootError) -> Answer) throws(RootError) -> Answer {
        try StateLock.acquire(file, until: .now + StateFolder.patience)
        defer { _ = sys_lock(file.number, sys_lock_none, 0) }
        return try body()
    }

    /// The same, given that nobody has taken the upload over.
    /// - Throws: ``RootError/takenOver`` when somebody has, or has removed it.
    func owned<Answer>(_ body: () throws(RootError) -> Answer) throws(RootError) -> Answer {
        try locked { () throws(RootError) in
            guard isOwn() else { throw .takenOver }
            return try body()
        }
    }

    /// Whether we are the last who took the upload.
    func isOwn() -> Bool {
        var status = sys_attributes()
        return unsafe sys_statat(folder.number, id + UploadStore.record, &status) == 0
            && status.modificationTime == stamp
    }

    /// Makes the upload ours: whoever had it before sees that at the next write.
    ///
    /// Under the lock.
    func take(_ record: UploadRecord) throws(RootError) {
        stamp = Timestamp(
            seconds: Int64.random(in: 1_000_000...2_000_000_000), nanoseconds: Int32.random(in: 0..<1_000_000_000))
        try write(record)
    }

    /// Replaces the record and stays its owner.
    ///
    /// Under the lock. Waits for the disk where the policy says so. But after a power cut a small upload that was
    /// ending may be unknown, though its bytes are there: not worth waiting for the disk with every small file.
    func write(_ record: UploadRecord, isEnding: Bool = false) throws(RootError) {
        generation &+= 1
        stamp = try store.replace(record, generation: generation, stamp: stamp, isEnding: isEnding, in: folder)
    }
}

extension UploadStore {
    /// Replaces an upload's record whole; under the lock of its part, where that is there.
    /// - Parameters:
    ///   - record: what it says now.
    ///   - generation: of the record.
    ///   - stamp: its modification time, by which its owner knows it.
    ///   - isEnding: whether it need not outlive a power cut.
    ///   - folder: of the uploads.
    /// - Returns: the stamp as the file system keeps it, which may be coarser.
    /// - Throws: what the disk says.
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
            try check(stamped, "stamp an upload record")
            try unsafe check(sys_statat(folder.number, temporary, &kept), "statat an upload record")
            try unsafe check(
                sys_renameat(folder.number, temporary, folder.number, record.id + Self.record),
                "rename an upload record")
        } catch {
            // What stays is a stray, which the next sweep finds.
            _ = unsafe sys_unlinkat(folder.number, temporary, 0)
            throw error
        }
        if state.waitsForDisk, !isEnding { try WriteBack.waitForNames(in: folder.number) }
        return kept.modificationTime
    }
}
