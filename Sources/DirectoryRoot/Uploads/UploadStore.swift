import CSyscalls
import Synchronization

/// Resumable uploads: `.shareserve/uploads/<id>.record`, and the bytes in `<id>.part`.
///
/// The length of the part file is the number of bytes received, whenever the process ends. After a power cut it may
/// include bytes that never reached the disk, so any process but the one that wrote them trusts only those that the
/// record calls settled. The upload belongs to whoever last stamped its record: the record's modification time is a
/// random number, chosen anew by everyone who continues the upload, and checked before each write under a lock on the
/// part file. So a client that comes back immediately takes its upload over from its own lost connection, also on
/// another process or host.
package final class UploadStore: Sendable {
    static let folder = "uploads"
    /// The suffix of the name of an upload's bytes, after its id.
    static let part = ".part"
    /// The suffix of its record's name.
    static let record = ".record"
    /// How long a finished upload is remembered.
    static let remembersFinished: Duration = .seconds(3_600)

    /// The most finished uploads that are remembered.
    private static let mostFinished = 1_000

    let state: StateFolder
    let clock: RootClock
    /// Distinguishes this process from all others, and from earlier ones.
    let process = StateFile.randomName()
    let expiry: Duration
    private let limit: Int
    /// When a full store was last swept, by uptime.
    private let swept = Mutex<Duration?>(nil)
    /// The owners of the uploads, as far as already read: each is in a file.
    private let owners = Mutex<[String: Owner]>([:])
    let joined: JoinedUploads
    /// The ids of uploads whose copy's disk is being waited for.
    private let asked = Mutex<Set<String>>([])
    /// The most such waits at once: a disk that hangs must not block more of the threads that everybody needs.
    private static let mostAsked = 2
    /// Whether a thread is completing records of copies, and an error of it that was not reported yet.
    let settling = Mutex<(isUnderWay: Bool, failure: RootError?)>((false, nil))
    /// How often a full store is swept at most, however many uploads are refused: each record is a file to read.
    static let sweepInterval: Duration = .seconds(10)

    init(state: StateFolder, policy: RootPolicy, clock: RootClock) {
        self.state = state
        self.clock = clock
        expiry = max(.seconds(1), policy.uploadExpiry)
        limit = max(0, policy.maxUploads)
        joined = JoinedUploads(limit: limit)
    }

    /// Creates an empty upload.
    /// - Parameters:
    ///   - record: of the upload.
    ///   - file: an empty file with the rights that its folder gives, to hold the bytes if it can be had here.
    /// - Returns: where the bytes go.
    /// - Throws: ``RootError/tooMany`` at the limit; ``RootError/tooManyUploads``.
    func create(_ record: UploadRecord, from file: TemporaryFile?) throws(RootError) -> UploadPart {
        guard let folder = try state.subfolder(Self.folder, creating: true) else { throw .readOnly }
        var (parts, records) = try count(in: folder)
        if parts >= limit - parts {
            // What can't be removed expires.
            joined.forget { id in try? remove(id, in: folder) }
            (parts, records) = try count(in: folder)
        }
        if parts >= limit || records > parts + Self.mostFinished {
            if isTimeToSweep() {
                // The count afterwards decides, not whether everything could be swept.
                try? sweep()
                (parts, records) = try count(in: folder)
            }
            if records > parts + Self.mostFinished { try forgetFinished(in: folder) }
            guard parts < limit else { throw .tooMany }
        }
        do throws(RootError) {
            try requireFairness(to: record, among: parts, in: folder)
        } catch {
            guard error == .tooManyUploads, isTimeToSweep() else { throw error }
            try? sweep()
            try requireFairness(to: record, among: count(in: folder).parts, in: folder)
        }
        let opened = Self.open(record.id + Self.part, in: folder.number, from: file)
        let part = UploadPart(
            store: self, folder: folder, id: record.id,
            file: try IdentifiedDescriptor(
                adopting: checkState(opened, "create a part", record.id + Self.part), "fstat state"))
        do throws(RootError) {
            try part.locked { () throws(RootError) in try part.take(record) }
        } catch {
            try remove(record.id, in: folder)
            throw error
        }
        return part
    }

    /// Creates the file for an upload's bytes; returns a descriptor or a negative `errno`.
    private static func open(_ name: String, in folder: Int32, from file: TemporaryFile?) -> Int32 {
        if let file, file.isUnnamed {
            let copy = sys_dup(file.descriptor)
            if copy < 0 { return copy }
            if unsafe sys_link_descriptor(copy, folder, name) == 0 { return copy }
            _ = sys_close(copy)
        }
        // The permissions of an ordinary new file: this very file will be the user's. The folder hides it.
        return unsafe sys_openat(folder, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, TemporaryFile.usual)
    }

    /// Leaves places for others: a requester who already has as many uploads as there are places left can't begin
    /// another.
    ///
    /// So one requester alone gets half of the places, two get a third each, and one who has none yet finds a place,
    /// whatever a few others do.
    private func requireFairness(
        to record: UploadRecord, among parts: Int, in folder: IdentifiedDescriptor
    ) throws(RootError) {
        // Even a requester who had all of them would have fewer than there are places left.
        guard parts >= limit - parts else { return }
        let ids = try Self.parts(in: folder)
        let known = owners.withLock { $0 }
        var now: [String: Owner] = [:]
        for id in ids {
            if let owner = known[id] {
                now[id] = owner
            } else if let record = try read(id, in: folder) {
                now[id] = Owner(record)
            }
        }
        owners.withLock { $0 = now }
        let own = Owner(record)
        guard now.values.count(where: { $0 == own }) < limit - ids.count else { throw .tooManyUploads }
    }

    private static func parts(in folder: IdentifiedDescriptor) throws(RootError) -> [String] {
        try StateFolder.names(in: folder).filter { $0.hasSuffix(Self.part) }.map {
            String($0.dropLast(Self.part.count))
        }
    }

    /// Who occupies a place: a user, or a network of requesters without a name.
    private struct Owner: Equatable {
        var user: String?
        var client: String?

        init(_ record: UploadRecord) {
            user = record.user
            client = record.client
        }
    }

    private func isTimeToSweep() -> Bool {
        let now = clock.uptime()
        return swept.withLock { swept in
            if let last = swept, now - last < Self.sweepInterval { return false }
            swept = now
            return true
        }
    }

    /// Takes an upload over from its previous owner.
    /// - Throws: ``RootError/unknownToken`` when there is none (any more).
    func open(
        _ id: String, allowing isAllowed: (UploadRecord) throws(RootError) -> Bool
    ) throws(RootError) -> (UploadPart, UploadRecord) {
        guard let (folder, record) = try find(id), try isAllowed(record) else { throw .unknownToken }
        let opened = Self.openPart(id, in: folder)
        if opened == -ENOENT { throw .unknownToken }
        let part = UploadPart(
            store: self, folder: folder, id: id,
            file: try IdentifiedDescriptor(adopting: checkState(opened, "open a part", id + Self.part), "fstat state"))
        return try part.locked { () throws(RootError) in
            // Read again: its previous owner may have finished it just now.
            guard var record = try self.find(id)?.record, part.isNamed(), try isAllowed(record) else {
                throw .unknownToken
            }
            record.touched = clock.wall()
            if case .committing = record.phase { record.phase = .receiving }
            // Bytes after the verified ones may not match their checksum, or may not be on the disk at all.
            let length = try part.length()
            let proven = record.proven(of: length, for: process)
            if length > proven { try check(sys_truncate(part.file.number, proven), "ftruncate a part") }
            record.vouched = nil
            record.settled = min(record.settled ?? proven, proven)
            record.writer = process
            try part.take(record)
            return (part, record)
        }
    }

    /// - Returns: the descriptor of an upload's bytes, for reading and writing, or a negative `errno`.
    static func openPart(_ id: String, in folder: IdentifiedDescriptor) -> Int32 {
        let flags = O_NOFOLLOW | O_NONBLOCK
        let opened = unsafe sys_openat(folder.number, id + part, O_RDWR | flags, 0)
        guard opened == -EACCES else { return opened }
        // A process was killed when it was about to name it: it has the permission bits of a file that nobody may write
        // to.
        let reading = unsafe sys_openat(folder.number, id + part, O_RDONLY | flags, 0)
        guard reading >= 0 else { return opened }
        let file = Descriptor(owning: reading)
        guard sys_chmod(file.number, 0o600) == 0 else { return opened }
        return unsafe sys_openat(folder.number, id + part, O_RDWR | flags, 0)
    }

    /// Removes an upload with all its bytes.
    func remove(_ id: String) throws(RootError) {
        guard let (folder, _) = try find(id) else { throw .unknownToken }
        try remove(id, in: folder)
        if state.waitsForDisk { try WriteBack.waitForNames(in: folder.number) }
    }

    /// Runs `body`, which waits for the disk that an upload was copied to and may take long, or hang.
    /// - Parameters:
    ///   - id: of the upload.
    ///   - body: waits for the disk.
    /// - Returns: the result of `body`.
    /// - Throws: ``RootError/tooMany`` while another call waits for that upload's copy, or too many wait; what `body`
    ///   throws.
    func asking<Answer>(about id: String, _ body: () throws(RootError) -> Answer) throws(RootError) -> Answer {
        let isFree = asked.withLock { $0.count < Self.mostAsked && $0.insert(id).inserted }
        guard isFree else { throw .tooMany }
        defer { asked.withLock { _ = $0.remove(id) } }
        return try body()
    }

    /// The number of unfinished uploads, and of all records.
    private func count(in folder: IdentifiedDescriptor) throws(RootError) -> (parts: Int, records: Int) {
        let names = try StateFolder.names(in: folder)
        return (names.count { $0.hasSuffix(Self.part) }, names.count { $0.hasSuffix(Self.record) })
    }

    /// Forgets the older half of the finished uploads.
    private func forgetFinished(in folder: IdentifiedDescriptor) throws(RootError) {
        let finished = try all().map(\.record).filter(\.isFinished).sorted { $0.touched < $1.touched }
        for record in finished.dropLast(Self.mostFinished / 2) { try remove(record.id, in: folder) }
    }

    /// Removes the record first: a part without one is ignored.
    func remove(_ id: String, in folder: IdentifiedDescriptor) throws(RootError) {
        for name in [id + Self.record, id + Self.part] {
            let status = unsafe sys_unlinkat(folder.number, name, 0)
            if status != -ENOENT { try checkState(status, "unlink an upload", name) }
        }
    }
}
