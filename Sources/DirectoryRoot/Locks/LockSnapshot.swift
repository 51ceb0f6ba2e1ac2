/// All locks at one moment, and the rules of RFC 4918 §6 and §7 for them.
///
/// Pure: no file, no clock.
///
/// Locks are looked up by path and along its ancestors, so that their total number does not matter.
struct LockSnapshot: Sendable {
    private(set) var locks: [String: StoredLock] = [:]
    /// The lines of the file by token, so that a change need not encode every lock again.
    private var lines: [String: [UInt8]] = [:]
    /// The bytes of all lines.
    private(set) var byteCount = 0
    private var atPath: [SharePath: [String]] = [:]
    /// The roots of all locks, each once, in byte order: all those below one path are adjacent.
    private var roots: [SharePath] = []
    /// The number of locks by the length of their root in bytes.
    private var lengths: [Int: Int] = [:]
    private var perUser: [String?: Holding] = [:]
    /// By token, the roots of locks that the disk may know by other spellings: none on an ordinary file system.
    private(set) var respelled: [String: SharePath] = [:]

    var isEmpty: Bool { locks.isEmpty }

    /// What one user has of the table.
    struct Holding: Equatable {
        var locks = 0
        var bytes = 0
    }

    func holding(of user: String?) -> Holding { perUser[user] ?? Holding() }

    // MARK: Questions

    /// The locks in force that cover `path`: its own, and those of depth infinity above it.
    func covering(_ path: SharePath, at uptime: Duration) -> [StoredLock] {
        var found = own(path, at: uptime)
        for folder in path.ancestors(ofLength: { lengths[$0] != nil }) {
            found += own(folder, at: uptime).filter(\.isRecursive)
        }
        return found
    }

    /// The locks in force whose root is at or below `path`.
    func within(_ path: SharePath, at uptime: Duration) -> [StoredLock] {
        let first = place(of: path.isRoot ? [0] : path.bytes + [SharePath.slash])
        let below = roots[first...].prefix { path.isAncestor(of: $0) }
        return own(path, at: uptime) + below.flatMap { own($0, at: uptime) }
    }

    /// The roots of the locks that forbid this use to a requester that submits `tokens`, sorted; empty when it may
    /// proceed.
    ///
    /// For each resource in use, one token of the locks that cover it is enough: several can cover one only when all
    /// are shared.
    func obstacles(_ use: WriteUse, tokens: Set<String>, user: String?, at uptime: Duration) -> [SharePath] {
        var obstacles: Set<SharePath> = []
        func ask(_ covering: [StoredLock]) {
            guard !covering.isEmpty, !covering.contains(where: { tokens.contains($0.token) && $0.obeys(user) }) else {
                return
            }
            obstacles.formUnion(covering.map(\.root))
        }
        for path in use.changes + use.bindings + use.trees { ask(covering(path, at: uptime)) }
        for path in use.bindings + use.trees where !path.isRoot { ask(covering(path.parent, at: uptime)) }
        for path in use.trees {
            for lock in within(path, at: uptime) { ask(covering(lock.root, at: uptime)) }
        }
        return obstacles.sorted { $0.bytes.lexicographicallyPrecedes($1.bytes) }
    }

    /// The roots of the locks that a new lock would conflict with, sorted.
    ///
    /// RFC 4918 §6.1, §6.2, §9.10.5.
    func conflicts(
        at path: SharePath, isExclusive: Bool, isRecursive: Bool, at uptime: Duration
    ) -> [SharePath] {
        let met = covering(path, at: uptime) + (isRecursive ? within(path, at: uptime) : [])
        let roots = Set(met.filter { isExclusive || $0.isExclusive }.map(\.root))
        return roots.sorted { $0.bytes.lexicographicallyPrecedes($1.bytes) }
    }

    // MARK: Changes

    mutating func insert(_ lock: StoredLock) {
        remove(lock.token)
        if atPath[lock.root] == nil { roots.insert(lock.root, at: place(of: lock.root.bytes)) }
        add(lock)
    }

    /// Adds a lock, except to the sorted roots.
    private mutating func add(_ lock: StoredLock) {
        locks[lock.token] = lock
        var line: [UInt8] = []
        lock.record.write(to: &line)
        lines[lock.token] = line
        byteCount += line.count
        atPath[lock.root, default: []].append(lock.token)
        lengths[lock.root.bytes.count, default: 0] += 1
        perUser[lock.user, default: Holding()].locks += 1
        perUser[lock.user, default: Holding()].bytes += line.count
        if lock.isRespelled { respelled[lock.token] = lock.root }
    }

    mutating func remove(_ token: String) {
        guard let lock = locks.removeValue(forKey: token) else { return }
        if lock.isRespelled { respelled[token] = nil }
        let bytes = lines.removeValue(forKey: token)?.count ?? 0
        byteCount -= bytes
        perUser[lock.user]?.locks -= 1
        perUser[lock.user]?.bytes -= bytes
        if perUser[lock.user] == Holding() { perUser[lock.user] = nil }
        atPath[lock.root]?.removeAll { $0 == token }
        if atPath[lock.root]?.isEmpty == true {
            atPath[lock.root] = nil
            roots.remove(at: place(of: lock.root.bytes))
        }
        lengths[lock.root.bytes.count] = lengths[lock.root.bytes.count].flatMap { $0 > 1 ? $0 - 1 : nil }
    }

    /// Removes the locks that have expired.
    mutating func expire(at uptime: Duration) {
        for lock in locks.values.filter({ $0.deadline <= uptime }) { remove(lock.token) }
    }

    // MARK: The file

    /// Reads the payload of the file.
    ///
    /// Locks that were known before keep the deadline by which this process counts.
    init(payload: [UInt8], knownBefore: LockSnapshot, wall: Timestamp, uptime: Duration) throws(DamagedState) {
        var found: [String: StoredLock] = [:]
        for record in try StateRecord.all(in: payload) {
            var lock = try StoredLock(record, wall: wall, uptime: uptime)
            if let known = knownBefore.locks[lock.token], known.expires == lock.expires {
                lock.deadline = known.deadline
            }
            found[lock.token] = lock
        }
        for lock in found.values { add(lock) }
        roots = atPath.keys.sorted { $0.bytes.lexicographicallyPrecedes($1.bytes) }
    }

    init() {}

    var payload: [UInt8] {
        var payload: [UInt8] = []
        payload.reserveCapacity(byteCount)
        for line in lines.values { payload += line }
        return payload
    }

    /// How many roots sort before these bytes.
    private func place(of bytes: [UInt8]) -> Int {
        var (low, high) = (0, roots.count)
        while low < high {
            let middle = (low + high) / 2
            if roots[middle].bytes.lexicographicallyPrecedes(bytes) { low = middle + 1 } else { high = middle }
        }
        return low
    }

    private func own(_ path: SharePath, at uptime: Duration) -> [StoredLock] {
        guard let tokens = atPath[path] else { return [] }
        return tokens.compactMap { locks[$0] }.filter { $0.deadline > uptime }
    }
}

extension StoredLock {
    /// Whether `user` may use this lock's token: a lock that a named user took serves that user only.
    ///
    /// RFC 4918 §6.4.
    func obeys(_ user: String?) -> Bool { self.user == nil || self.user == user }
}
