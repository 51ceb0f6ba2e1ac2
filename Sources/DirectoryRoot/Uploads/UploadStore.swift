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

    /// Far more than any record has.
    private static let mostRecordBytes: UInt64 = 1 << 20
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
    /// The partial uploads that have been joined, and those that are just being joined.
    private let joins = Mutex(Joins())
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
    }

    /// Creates an empty upload.
    /// - Throws: ``RootError/tooMany`` at the limit; ``RootError/tooManyUploads``.
    func create(_ record: UploadRecord) throws(RootError) -> UploadPart {
        guard let folder = try state.subfolder(Self.folder, creating: true) else { throw .readOnly }
        var (parts, records) = try count(in: folder)
        if parts >= limit - parts {
            forgetJoined(in: folder)
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
        // The permissions of an ordinary new file: this very file will be the user's. The folder hides it.
        let opened = unsafe sys_openat(
            folder.number, record.id + Self.part, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0o666)
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

    private struct Joins {
        /// The ids of partial uploads that are part of a file by now: kept for a client that asks to join them again,
        /// but only as long as nobody needs their places.
        var done: [String] = []
        /// How many requests are joining a partial upload, by its id.
        var underWay: [String: Int] = [:]
    }

    /// Notes that the upload that was joined from these has become a file.
    func noteJoined(_ parts: [String]) {
        joins.withLock { joins in
            joins.done += parts
            // There are no more files than that: the others have expired.
            joins.done.removeFirst(max(0, joins.done.count - limit))
        }
    }

    /// Runs `body`, which joins these partial uploads and may take long: until it ends, nobody who needs their places
    /// removes them.
    /// - Parameters:
    ///   - parts: the ids of the partial uploads.
    ///   - body: joins them.
    /// - Returns: the result of `body`.
    /// - Throws: what `body` throws.
    func joining<Answer>(_ parts: [String], _ body: () throws(RootError) -> Answer) throws(RootError) -> Answer {
        joins.withLock { joins in
            for id in parts { joins.underWay[id, default: 0] += 1 }
        }
        defer {
            joins.withLock { joins in
                for id in parts {
                    let others = joins.underWay[id, default: 1] - 1
                    joins.underWay[id] = others > 0 ? others : nil
                }
            }
        }
        return try body()
    }

    /// Removes the partial uploads that are part of a file, but for those that are being joined again.
    private func forgetJoined(in folder: IdentifiedDescriptor) {
        // Under the lock, so that nobody counts those that another thread is removing, or begins to join one.
        joins.withLock { joins in
            guard !joins.done.isEmpty else { return }
            let kept = joins.done.filter { joins.underWay[$0] != nil }
            // What can't be removed expires.
            for id in joins.done where joins.underWay[id] == nil { try? remove(id, in: folder) }
            joins.done = kept
        }
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

    /// Removes an upload with all its bytes.
    func remove(_ id: String) throws(RootError) {
        guard let (folder, _) = try find(id) else { throw .unknownToken }
        try remove(id, in: folder)
        if state.waitsForDisk { try WriteBack.waitForNames(in: folder.number) }
    }

    /// Removes expired uploads, and what a crash left behind.
    ///
    /// Called at the start, and every minute.
    /// - Throws: what the disk reports for the first that could not be read or removed, after all others are done.
    package func sweep() throws(RootError) {
        guard !state.isReadOnly, let folder = try state.subfolder(Self.folder, creating: false) else { return }
        var attempts = Attempts()
        for name in try StateFolder.names(in: folder) {
            attempts.run { () throws(RootError) in try tidy(name, in: folder) }
        }
        try attempts.finish()
    }

    private func tidy(_ name: String, in folder: IdentifiedDescriptor) throws(RootError) {
        let id = String(name.prefix { $0 != "." })
        if name == id + Self.record {
            guard let record = try read(id, in: folder) else { return }
            if isOver(record, in: folder) { try remove(id, in: folder) }
        } else if isStray(name, of: id, in: folder) {
            // What can't be removed now is tried again the next time.
            _ = unsafe sys_unlinkat(folder.number, name, 0)
        }
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

    /// When an upload expires if nobody continues it.
    func expires(_ record: UploadRecord, in folder: IdentifiedDescriptor) -> Timestamp {
        var last = record.touched
        if record.isFinished { return last.advanced(by: min(expiry, Self.remembersFinished)) }
        var status = sys_attributes()
        if unsafe sys_statat(folder.number, record.id + Self.part, &status) == 0 {
            let written = status.modificationTime
            // Bytes that could not get their name have the modification time that the file was to get: some clients'
            // clocks are years ahead.
            if written <= clock.wall().advanced(by: expiry) { last = max(last, written) }
        }
        return last.advanced(by: expiry)
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

    private func isOver(_ record: UploadRecord, in folder: IdentifiedDescriptor) -> Bool {
        expires(record, in: folder) <= clock.wall()
    }

    /// Whether it is a part without a record, or a temporary file, that was not touched for a day.
    private func isStray(_ name: String, of id: String, in folder: IdentifiedDescriptor) -> Bool {
        var status = sys_attributes()
        if name.hasSuffix(Self.part), unsafe sys_statat(folder.number, id + Self.record, &status) == 0 { return false }
        guard !name.hasSuffix(".damaged"), unsafe sys_statat(folder.number, name, &status) == 0 else { return false }
        return clock.wall().since(Timestamp(seconds: status.changed)) > .seconds(86_400)
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
    private func remove(_ id: String, in folder: IdentifiedDescriptor) throws(RootError) {
        for name in [id + Self.record, id + Self.part] {
            let status = unsafe sys_unlinkat(folder.number, name, 0)
            if status != -ENOENT { try checkState(status, "unlink an upload", name) }
        }
    }

    private static func isID(_ id: String) -> Bool {
        id.utf8.count == 32
            && id.utf8.allSatisfy {
                (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
                    || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0)
            }
    }
}
