import Synchronization

/// The write locks of the whole share, in one file of the state folder: they hold for all handlers and processes, and
/// survive restarts.
///
/// A lookup costs one `fstatat` while nothing has changed. A change reads, modifies and replaces the file under the
/// state folder's lock. Expiry counts by uptime while the process runs and by the time of day across restarts; changing
/// the clock can't make a lock last longer than it was granted for. RFC 4918 §6, §7.
package final class LockTable: Sendable {
    private struct Known {
        /// Nil when there is no file.
        var identity: StateFile.Identity?
        var generation: UInt64 = 0
        var snapshot = LockSnapshot()
        var isValid = false
        /// The file holds something else; it is kept aside before the next change, and counts as empty until then.
        var isDamaged = false
        /// Locks that have ended but are still in the file, since the disk had no space for a new one.
        var unwritten: Set<String> = []
    }

    private let file: StateFile
    private let clock: RootClock
    private let longest: Duration
    private let limit: Int
    private let limitPerUser: Int
    /// The most bytes of all locks: every change writes them all, and a response may repeat them all for each member of
    /// a listing.
    private let limitBytes: Int
    /// Bytes of the locks of one user.
    private let limitBytesPerUser: Int
    private let known = Mutex(Known())

    init(state: StateFolder, policy: RootPolicy, clock: RootClock) {
        file = StateFile(state: state, name: "locks")
        self.clock = clock
        longest = max(.seconds(1), policy.maxLockDuration)
        limit = policy.maxLocks
        limitPerUser = policy.maxLocksPerUser
        limitBytes = Self.mostBytes(of: policy.maxLocks)
        // Of few locks, each may be large: half of the room is still left to others.
        let perUser = Self.mostBytes(of: policy.maxLocksPerUser)
        limitBytesPerUser = limitPerUser < limit ? min(perUser, limitBytes / 2) : perUser
    }

    /// An owner may have 8 KiB, and a path 4 KiB; a thousand bytes are several times what clients' locks take.
    private static func mostBytes(of locks: Int) -> Int {
        let (bytes, isTooMuch) = locks.multipliedReportingOverflow(by: 1_000)
        return isTooMuch ? .max : max(65_536, bytes)
    }

    /// Lets a write proceed, or names the locks that forbid it.
    /// - Returns: the roots of the locks that the disk may know by other spellings, for a second check.
    /// - Throws: ``RootError/locked(_:)`` with the roots of the locks whose tokens are missing.
    @discardableResult
    package func check(_ use: WriteUse, tokens: [LockToken], user: String?) throws(RootError) -> [SharePath] {
        let (obstacles, respelled) = try ask { snapshot, uptime in
            snapshot.isEmpty
                ? ([], [])
                : (
                    snapshot.obstacles(use, tokens: Set(tokens.map(\.uri)), user: user, at: uptime),
                    Array(snapshot.respelled.values)
                )
        }
        guard obstacles.isEmpty else { throw .locked(obstacles) }
        return respelled
    }

    /// Whether any lock is in force; one `fstatat`.
    package func isEmpty() throws(RootError) -> Bool {
        try ask { snapshot, _ in snapshot.isEmpty }
    }

    /// Whether no lock covers `path`, found out without waiting.
    /// - Parameters:
    ///   - path: the real path from the root.
    ///   - isInMemory: whether the root's file system is in memory.
    /// - Returns: false when a lock covers it, and when that is unknown.
    func spareAtOnce(_ path: SharePath, isInMemory: Bool) -> Bool {
        known.withLockIfAvailable { known in
            // This path may be another spelling of one of those.
            guard known.isValid, known.snapshot.respelled.isEmpty,
                known.snapshot.isEmpty || known.snapshot.covering(path, at: clock.uptime()).isEmpty
            else { return false }
            do throws(RootError) {
                return try file.identityAtOnce(isInMemory: isInMemory) == known.identity
            } catch {
                return false
            }
        } ?? false
    }

    /// The roots of the locks that the disk may know by other spellings.
    func respelledRoots() throws(RootError) -> [SharePath] {
        try ask { snapshot, _ in Array(snapshot.respelled.values) }
    }

    /// Whether there was no file at the last look.
    var wasAbsent: Bool { known.withLock { $0.isValid && $0.identity == nil } }

    /// The locks that cover `path`.
    package func covering(_ path: SharePath) throws(RootError) -> [ActiveLock] {
        try ask { snapshot, uptime in
            snapshot.isEmpty ? [] : snapshot.covering(path, at: uptime).map { $0.active(at: uptime) }
        }
    }

    /// The locks that cover `path`, and those on anything below it.
    package func around(_ path: SharePath) throws(RootError) -> [ActiveLock] {
        try ask { snapshot, uptime in
            guard !snapshot.isEmpty else { return [] }
            let covering = snapshot.covering(path, at: uptime)
            let below = snapshot.within(path, at: uptime).filter { $0.root != path }
            return (covering + below).map { $0.active(at: uptime) }
        }
    }

    /// Takes a lock.
    /// - Parameters:
    ///   - path: its root.
    ///   - request: what is asked for.
    ///   - user: the requester's name; nil without one.
    ///   - isRespelled: whether the disk may know the root by other spellings.
    /// - Returns: the lock.
    /// - Throws: ``RootError/locked(_:)`` with the roots of conflicting locks; ``RootError/tooMany`` and
    ///   ``RootError/tooManyLocks`` at a limit; ``RootError/tooLarge`` for an owner beyond its limit.
    package func take(
        _ path: SharePath, _ request: LockRequest, user: String?, isRespelled: Bool = false
    ) throws(RootError) -> ActiveLock {
        guard request.owner.count <= LockRequest.mostOwnerBytes else { throw .tooLarge }
        return try change { (snapshot, now) throws(RootError) -> ActiveLock in
            snapshot.expire(at: now.uptime)
            let conflicts = snapshot.conflicts(
                at: path, isExclusive: request.isExclusive, isRecursive: request.isRecursive, at: now.uptime)
            guard conflicts.isEmpty else { throw .locked(conflicts) }
            guard snapshot.locks.count < self.limit, snapshot.byteCount + request.owner.count < self.limitBytes
            else { throw .tooMany }
            // Requesters without a name are not one user.
            let held = snapshot.holding(of: user)
            guard
                user == nil
                    || held.locks < self.limitPerUser && held.bytes + request.owner.count < self.limitBytesPerUser
            else { throw .tooManyLocks }
            let duration = self.clipped(request.timeout)
            let lock = StoredLock(
                token: Self.newToken(), root: path, isExclusive: request.isExclusive,
                isRecursive: request.isRecursive, owner: request.owner, user: user, duration: duration,
                expires: now.wall.advanced(by: duration), deadline: now.uptime + duration, isRespelled: isRespelled)
            snapshot.insert(lock)
            return lock.active(at: now.uptime)
        }
    }

    /// Restarts the time-out of those of `tokens` that cover `path`.
    /// - Throws: ``RootError/preconditionFailed`` when none does; ``RootError/forbidden`` when the locks are another
    ///   user's.
    package func refresh(
        _ path: SharePath, tokens: [LockToken], timeout: Duration?, user: String?
    ) throws(RootError) -> [ActiveLock] {
        try change { (snapshot, now) throws(RootError) -> [ActiveLock] in
            snapshot.expire(at: now.uptime)
            let wanted = Set(tokens.map(\.uri))
            let found = snapshot.covering(path, at: now.uptime).filter { wanted.contains($0.token) }
            guard !found.isEmpty else { throw .preconditionFailed }
            let own = found.filter { $0.obeys(user) }
            guard !own.isEmpty else { throw .forbidden }
            return own.map { lock in
                var lock = lock
                lock.duration = timeout.map { self.clipped($0) } ?? min(lock.duration, self.longest)
                lock.expires = now.wall.advanced(by: lock.duration)
                lock.deadline = now.uptime + lock.duration
                snapshot.insert(lock)
                return lock.active(at: now.uptime)
            }
        }
    }

    /// Ends a lock.
    /// - Parameters:
    ///   - path: at or below its root.
    ///   - token: of the lock.
    ///   - user: the requester's name; nil without one.
    ///   - isUnknown: no client was told of the lock, so it ends even when the disk can't be written.
    /// - Throws: ``RootError/unknownToken`` when no such lock covers `path`; ``RootError/forbidden`` for another
    ///   user's.
    package func release(
        _ path: SharePath, token: LockToken, user: String?, isUnknown: Bool = false
    ) throws(RootError) {
        try ending(unwritten: isUnknown) { (snapshot, now) throws(RootError) in
            snapshot.expire(at: now.uptime)
            guard let lock = snapshot.locks[token.uri], lock.covers(path) else { throw .unknownToken }
            guard lock.obeys(user) else { throw .forbidden }
            snapshot.remove(lock.token)
        }
    }

    /// Ends the locks at and below `path`, which was deleted, moved away or replaced.
    ///
    /// That has already happened, so a disk that is too full to record it is no reason to fail: this process knows, and
    /// it is written with the next change of any lock.
    /// - Parameters:
    ///   - path: of what is gone.
    ///   - spelling: gives `path` in the spelling of one of these lock roots, where the disk accepts several.
    /// - Throws: what the disk reports.
    package func drop(
        below path: SharePath, spelling: (SharePath, [SharePath]) -> SharePath = { path, _ in path }
    ) throws(RootError) {
        // Every write has just checked: another look would find nothing new.
        if wasAbsent { return }
        func hasAny(_ path: SharePath, _ snapshot: LockSnapshot, _ uptime: Duration) -> Bool {
            !snapshot.isEmpty && !snapshot.within(path, at: uptime).isEmpty
        }
        var path = path
        var (isHeld, respelled) = try ask { snapshot, uptime in
            (hasAny(path, snapshot, uptime), Array(snapshot.respelled.values))
        }
        if !respelled.isEmpty {
            path = spelling(path, respelled)
            isHeld = try ask { snapshot, uptime in hasAny(path, snapshot, uptime) }
        }
        guard isHeld else { return }
        try ending(unwritten: true) { (snapshot, now) throws(RootError) in
            for lock in snapshot.within(path, at: now.uptime) { snapshot.remove(lock.token) }
            snapshot.expire(at: now.uptime)
        }
    }

    /// Writes that locks have ended, if the file could not be replaced at the time.
    /// - Throws: what the disk still reports.
    func settle() throws(RootError) {
        guard known.withLock({ !$0.unwritten.isEmpty }) else { return }
        try file.state.usingSpareRoom { () throws(RootError) in
            try change { (snapshot, now) throws(RootError) in snapshot.expire(at: now.uptime) }
        }
    }

    // MARK: -

    private func clipped(_ timeout: Duration?) -> Duration {
        let seconds = min(timeout ?? longest, longest).components.seconds
        return .seconds(max(1, seconds))
    }

    private static func newToken() -> String {
        var digits = Array(StateFile.randomName().utf8)
        digits[12] = UInt8(ascii: "4")
        digits[16] = Array("89ab".utf8)[Int(digits[16] & 3)]
        var uri = Array("urn:uuid:".utf8)
        for (index, digit) in digits.enumerated() {
            if [8, 12, 16, 20].contains(index) { uri.append(UInt8(ascii: "-")) }
            uri.append(digit)
        }
        return String(decoding: uri, as: UTF8.self)
    }

    private struct Now {
        var wall: Timestamp
        var uptime: Duration
    }

    /// Answers from the copy in memory if one `fstatat` shows that it is current, otherwise from the file.
    private func ask<T>(_ question: (LockSnapshot, Duration) -> T) throws(RootError) -> T {
        // Not while others wait, unless it has to be: every listing and every write looks.
        let seen = try file.identity()
        return try known.withLock { (known) throws(RootError) -> T in
            if known.isValid, known.identity == seen { return question(known.snapshot, clock.uptime()) }
            // Perhaps it was replaced by this process in between.
            let identity = try file.identity()
            if !known.isValid || known.identity != identity {
                do throws(RootError) {
                    try adopt(try file.read(), &known)
                } catch  where error.isDamage {
                    file.state.incidents.report(.damagedFile(name: file.name))
                    known = Known(identity: identity, isValid: true, isDamaged: true)
                }
            }
            return question(known.snapshot, clock.uptime())
        }
    }

    private func adopt(_ contents: StateFile.Contents?, _ known: inout Known) throws(RootError) {
        if known.isValid, known.identity == contents?.identity, known.generation == contents?.envelope.generation ?? 0 {
            return
        }
        guard let contents else {
            known = Known(isValid: true)
            return
        }
        do {
            known.snapshot = try LockSnapshot(
                payload: contents.envelope.payload, knownBefore: known.snapshot, wall: clock.wall(),
                uptime: clock.uptime())
        } catch {
            throw .damaged(file.name)
        }
        known.identity = contents.identity
        known.generation = contents.envelope.generation
        known.isValid = true
        known.isDamaged = false
        // Another process that does not know of them has written another file meanwhile.
        known.unwritten.formIntersection(known.snapshot.locks.keys)
        for token in known.unwritten { known.snapshot.remove(token) }
    }

    /// A change that ends locks, for which the spare space on the disk may be used; with `unwritten` it succeeds even
    /// when the file can't be replaced.
    private func ending(
        unwritten: Bool, _ body: (inout LockSnapshot, Now) throws(RootError) -> Void
    ) throws(RootError) {
        do throws(RootError) {
            try file.state.usingSpareRoom { () throws(RootError) in try change(body) }
        } catch {
            // If another process holds the table, trying again would only wait once more.
            guard unwritten, error != .busy else { throw error }
            try change(holdsUnwritten: true, body)
        }
    }

    /// With `holdsUnwritten`, a change counts in this process even when the file can't be replaced.
    private func change<T>(
        holdsUnwritten: Bool = false, _ body: (inout LockSnapshot, Now) throws(RootError) -> T
    ) throws(RootError) -> T {
        try file.state.exclusively { (lock) throws(RootError) -> T in
            try known.withLock { (known) throws(RootError) -> T in
                let identity = try file.identity()
                if !known.isValid || known.isDamaged || known.identity != identity {
                    known.isValid = known.isValid && !known.isDamaged
                    var contents = try file.readForChange(lock)
                    do throws(RootError) {
                        try adopt(contents, &known)
                    } catch  where error.isDamage {
                        try file.setAside(lock)
                        contents = nil
                        known = Known(isValid: true)
                    }
                }
                let before = known.snapshot
                let now = Now(wall: clock.wall(), uptime: clock.uptime())
                // Every `body` throws before it changes anything except removing expired locks.
                let answer = try body(&known.snapshot, now)
                do throws(RootError) {
                    known.identity = try file.replace(
                        known.identity, generation: known.generation &+ 1, payload: known.snapshot.payload, lock)
                    known.generation &+= 1
                    known.unwritten = []
                } catch {
                    // If the file was replaced all the same, or by another process, its identity shows that, and it is
                    // read.
                    guard holdsUnwritten else {
                        known.snapshot = before
                        throw error
                    }
                    known.unwritten.formUnion(before.locks.keys.filter { known.snapshot.locks[$0] == nil })
                }
                return answer
            }
        }
    }
}
