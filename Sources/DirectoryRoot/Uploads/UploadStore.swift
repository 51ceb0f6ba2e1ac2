import CSyscalls
import Synchronization

/// Resumable uploads: `.shareserve/uploads/<id>.record` and the bytes beside it in `<id>.part`.
///
/// The length of the part file is what has come, whenever the process ends. After a power cut it may count bytes that
/// never reached the disk, so another process than the one that wrote them trusts only those that the record calls
/// settled. Who writes is whoever stamped the record last: a record's modification time is a random number, made anew
/// by everyone who goes on with the upload, and looked at before each write under a lock on the part file. So a client
/// that comes back takes its upload over from its own lost connection at once, also on another process or host.
package final class UploadStore: Sendable {
    static let folder = "uploads"
    /// What the name of an upload's bytes ends in, behind its id.
    static let part = ".part"
    /// What the name of its record ends in.
    static let record = ".record"
    /// How long a finished upload is remembered.
    static let remembersFinished: Duration = .seconds(3_600)

    /// More finished uploads than this are not remembered.
    private static let mostFinished = 1_000

    let state: StateFolder
    let clock: RootClock
    /// Tells this process from every other and from those before it.
    let process = StateFile.randomName()
    let expiry: Duration
    private let limit: Int
    /// When a full store was last swept, by the time that only moves forward.
    private let swept = Mutex<Duration?>(nil)
    /// Whose the uploads are, once that was asked: each is a file to read.
    private let owners = Mutex<[String: Owner]>([:])
    /// Those whose copy's disk is being asked about them, by their ids.
    private let asked = Mutex<Set<String>>([])
    /// So many at a time: of the threads that everybody waits for, a disk that hangs keeps no more.
    private static let mostAsked = 2
    /// Whether a thread says the last word about copies, and what went wrong that nobody has heard of yet.
    let settling = Mutex<(isUnderWay: Bool, failure: RootError?)>((false, nil))
    /// A full store is swept no more often than this, however many uploads are refused: each record is a file to read.
    static let sweepInterval: Duration = .seconds(10)

    init(state: StateFolder, policy: RootPolicy, clock: RootClock) {
        self.state = state
        self.clock = clock
        expiry = max(.seconds(1), policy.uploadExpiry)
        limit = max(0, policy.maxUploads)
    }

    /// Makes an empty upload.
    /// - Throws: ``RootError/tooMany`` at the limit; ``RootError/tooManyUploads``.
    func create(_ record: UploadRecord) throws(RootError) -> UploadPart {
        guard let folder = try state.subfolder(Self.folder, creating: true) else { throw .readOnly }
        var (parts, records) = try count(in: folder)
        if parts >= limit || records > parts + Self.mostFinished {
            if isTimeToSweep() {
                // What is counted then decides, not what could not be tidied.
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
        // The permissions that an ordinary new file has: this very file will be the user's. The folder hides it.
        let opened = unsafe sys_openat(
            folder.number, record.id + Self.part, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0o666)
        let part = UploadPart(
            store: self, folder: folder, id: record.id,
            file: try IdentifiedDescriptor(adopting: check(opened, "create a part"), "fstat state"))
        do throws(RootError) {
            try part.locked { () throws(RootError) in try part.take(record) }
        } catch {
            try remove(record.id, in: folder)
            throw error
        }
        return part
    }

    /// Leaves places for others: nobody begins an upload who has as many already as there are places left.
    ///
    /// So one alone gets half of them, two a third each, and who has none yet finds one, whatever a few others do.
    private func requireFairness(
        to record: UploadRecord, among parts: Int, in folder: IdentifiedDescriptor
    ) throws(RootError) {
        // Who had all of them would still have fewer.
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

    /// Who takes a place: a user, or a network of those without a name.
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

    /// Takes an upload over from whoever wrote to it before.
    /// - Throws: ``RootError/unknownToken`` when there is none, or no more.
    func open(
        _ id: String, allowing isAllowed: (UploadRecord) throws(RootError) -> Bool
    ) throws(RootError) -> (UploadPart, UploadRecord) {
        guard let (folder, record) = try find(id), try isAllowed(record) else { throw .unknownToken }
        let opened = Self.openPart(id, in: folder)
        if opened == -ENOENT { throw .unknownToken }
        let part = UploadPart(
            store: self, folder: folder, id: id,
            file: try IdentifiedDescriptor(adopting: check(opened, "open a part"), "fstat state"))
        return try part.locked { () throws(RootError) in
            // Read again: whoever had it may have finished it just now.
            guard var record = try self.find(id)?.record, part.isNamed(), try isAllowed(record) else {
                throw .unknownToken
            }
            record.touched = clock.wall()
            if case .committing = record.phase { record.phase = .receiving }
            // Nobody has seen whether what came behind is what its check sum says, or is on the disk at all.
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
        // Killed when it was about to get a name, and had the bits of a file that nobody writes to.
        let reading = unsafe sys_openat(folder.number, id + part, O_RDONLY | flags, 0)
        guard reading >= 0 else { return opened }
        let file = Descriptor(owning: reading)
        guard sys_chmod(file.number, 0o600) == 0 else { return opened }
        return unsafe sys_openat(folder.number, id + part, O_RDWR | flags, 0)
    }

    /// The record, unless it is over.
    func find(_ id: String) throws(RootError) -> (folder: IdentifiedDescriptor, record: UploadRecord)? {
        guard Self.isID(id), let folder = try state.subfolder(Self.folder, creating: false),
            let record = try read(id, in: folder), !isOver(record, in: folder)
        else { return nil }
        return (folder, record)
    }

    /// All uploads that are not over, in no order, with what has come; but for those whose records can't be read, as
    /// those of an earlier start as another user.
    /// - Parameter age: how long ago those that wait for somebody to go on with them got their last bytes at most; nil
    ///   for all.
    /// - Returns: the uploads.
    /// - Throws: what the disk says of their folder.
    func all(within age: Duration? = nil) throws(RootError) -> [UploadProgress] {
        guard let folder = try state.subfolder(Self.folder, creating: false) else { return [] }
        var found: [UploadProgress] = []
        for name in try StateFolder.names(in: folder) where name.hasSuffix(Self.record) {
            let id = String(name.dropLast(Self.record.count))
            guard Self.isID(id), let record = try? read(id, in: folder), !isOver(record, in: folder) else { continue }
            var status = sys_attributes()
            let isThere = unsafe sys_statat(folder.number, id + Self.part, &status) == 0
            // Without bytes and without a last word: killed in its last moment, and done.
            guard isThere || record.isFinished else { continue }
            if let age, isThere, !goesOn(record, status, within: age), !isHeld(id, in: folder) { continue }
            let offset = isThere ? record.proven(of: Int64(clamping: status.size), for: process) : 0
            found.append(UploadProgress(record: record, offset: offset))
        }
        return found
    }

    /// Whether somebody is about to end it, which may take a while: by a copy to another disk.
    private func isHeld(_ id: String, in folder: IdentifiedDescriptor) -> Bool {
        let opened = unsafe sys_openat(folder.number, id + Self.part, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0)
        guard opened >= 0 else { return false }
        let part = Descriptor(owning: opened)
        return sys_is_locked(part.number) == 1
    }

    private func goesOn(_ record: UploadRecord, _ part: sys_attributes, within age: Duration) -> Bool {
        let now = clock.wall()
        // Bytes that were refused their name have the time that the file was to have.
        let written = part.modificationTime <= now ? part.modificationTime : record.touched
        return max(record.touched, written).advanced(by: age) >= now
    }

    /// Removes an upload with all that has come.
    func remove(_ id: String) throws(RootError) {
        guard let (folder, _) = try find(id) else { throw .unknownToken }
        try remove(id, in: folder)
        if state.waitsForDisk { try WriteBack.waitForNames(in: folder.number) }
    }

    /// Removes what is over, and what a crash left behind.
    ///
    /// At the start, and every minute.
    /// - Throws: what the disk says of the first that could not be read or removed, once all others are done.
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
            // What can't be removed is there the next time.
            _ = unsafe sys_unlinkat(folder.number, name, 0)
        }
    }

    /// Runs what asks the disk that an upload was copied to, which may take its time, or hang.
    /// - Parameters:
    ///   - id: of the upload.
    ///   - body: what asks.
    /// - Returns: what `body` gives.
    /// - Throws: ``RootError/tooMany`` while it is asked about that upload, or about too many; what `body` throws.
    func asking<Answer>(about id: String, _ body: () throws(RootError) -> Answer) throws(RootError) -> Answer {
        let isFree = asked.withLock { $0.count < Self.mostAsked && $0.insert(id).inserted }
        guard isFree else { throw .tooMany }
        defer { asked.withLock { _ = $0.remove(id) } }
        return try body()
    }

    /// The moment at which an upload is given up when nobody goes on with it.
    func expires(_ record: UploadRecord, in folder: IdentifiedDescriptor) -> Timestamp {
        var last = record.touched
        if record.isFinished { return last.advanced(by: min(expiry, Self.remembersFinished)) }
        var status = sys_attributes()
        if unsafe sys_statat(folder.number, record.id + Self.part, &status) == 0 {
            let written = status.modificationTime
            // Bytes that were refused their name have the time that the file was to have: some clients' clocks are
            // years ahead.
            if written <= clock.wall().advanced(by: expiry) { last = max(last, written) }
        }
        return last.advanced(by: expiry)
    }

    func read(_ id: String, in folder: IdentifiedDescriptor) throws(RootError) -> UploadRecord? {
        guard let bytes = try StateFile.bytes(of: id + Self.record, in: folder) else { return nil }
        do {
            guard let line = try StateRecord.all(in: StateEnvelope(file: bytes).payload).first else {
                throw DamagedState()
            }
            return try UploadRecord(line, id: id)
        } catch {
            // The last word about an upload is not waited for: after a power cut there may be nothing in it.
            if !state.isReadOnly, bytes.allSatisfy({ $0 == 0 }) {
                // One that stays says nothing to the next who reads it either.
                _ = unsafe sys_unlinkat(folder.number, id + Self.record, 0)
                return nil
            }
            let kept = "\(id).damaged"
            let isKept =
                unsafe !state.isReadOnly && sys_renameat(folder.number, id + Self.record, folder.number, kept) == 0
            // What stays under its name is looked at again, and another process may have put it away.
            if isKept { state.incidents.report(.damagedFile(name: id + Self.record, keptAs: kept)) }
            return nil
        }
    }

    private func isOver(_ record: UploadRecord, in folder: IdentifiedDescriptor) -> Bool {
        expires(record, in: folder) <= clock.wall()
    }

    /// A part without a record, or a temporary file, that nobody touched for long.
    private func isStray(_ name: String, of id: String, in folder: IdentifiedDescriptor) -> Bool {
        var status = sys_attributes()
        if name.hasSuffix(Self.part), unsafe sys_statat(folder.number, id + Self.record, &status) == 0 { return false }
        guard !name.hasSuffix(".damaged"), unsafe sys_statat(folder.number, name, &status) == 0 else { return false }
        return clock.wall().since(Timestamp(seconds: status.changed)) > .seconds(86_400)
    }

    /// The uploads that go on, and all that are remembered.
    private func count(in folder: IdentifiedDescriptor) throws(RootError) -> (parts: Int, records: Int) {
        let names = try StateFolder.names(in: folder)
        return (names.count { $0.hasSuffix(Self.part) }, names.count { $0.hasSuffix(Self.record) })
    }

    /// Forgets the older half of the finished uploads.
    private func forgetFinished(in folder: IdentifiedDescriptor) throws(RootError) {
        let finished = try all().map(\.record).filter(\.isFinished).sorted { $0.touched < $1.touched }
        for record in finished.dropLast(Self.mostFinished / 2) { try remove(record.id, in: folder) }
    }

    /// The record first: a part without one is nothing.
    private func remove(_ id: String, in folder: IdentifiedDescriptor) throws(RootError) {
        for name in [id + Self.record, id + Self.part] {
            let status = unsafe sys_unlinkat(folder.number, name, 0)
            if status != -ENOENT { try check(status, "unlink an upload") }
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
