import CSyscalls

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// An advisory lock on one file of the state folder, which excludes threads, processes and, on a distributed file
/// system, hosts.
///
/// Released when its holder ends. The file is closed then: while it is open for writing, which locking takes, nobody
/// could mount its file system read-only.
///
/// Every change of state is made under the lock file `lock`; names change under `commit`, which is taken first.
struct StateLock {
    let folder: IdentifiedDescriptor
    private let file: SharedDescriptor
    /// Whether the lock file is not empty, and nobody else can hold the lock; see ``CommitLock/mark()``.
    let isMarked: Bool

    /// How waiting for a lock went in this process lately.
    struct Waits {
        /// When somebody here has last waited for another process in vain; nil when the lock was had since.
        ///
        /// The threads right behind do not wait as long, one after another, for a process that hangs.
        fileprivate var gaveUp: ContinuousClock.Instant?
    }

    /// How long the lock is waited for right after somebody has waited in vain.
    private static let shortPatience: Duration = .milliseconds(100)
    /// How long after that.
    private static let hurry: Duration = .seconds(2)

    /// Waits for the lock, at most for `patience`.
    ///
    /// - Parameters:
    ///   - name: of the lock file.
    ///   - folder: the folder that holds it.
    ///   - waits: how waiting for it went.
    ///   - creating: whether a missing lock file is created.
    ///   - patience: how long to wait.
    /// - Throws: ``RootError/busy`` when another process holds the lock for longer; ``RootError/notFound`` without a
    ///   lock file.
    init(
        named name: String, folder: IdentifiedDescriptor, waits: inout Waits, creating: Bool = true,
        patience: Duration = StateFolder.patience
    ) throws(RootError) {
        self.folder = folder
        let now = ContinuousClock.now
        let isHurried = waits.gaveUp.map { now - $0 < Self.hurry } ?? false
        let deadline = now + (isHurried ? min(patience, Self.shortPatience) : patience)
        while true {
            let file = try Self.open(name, in: folder, creating: creating)
            let isHeld: Bool
            do throws(RootError) {
                isHeld = try Self.acquire(file.number, until: deadline)
                waits.gaveUp = nil
            } catch {
                if error == .busy, patience > Self.shortPatience { waits.gaveUp = .now }
                throw error
            }
            // If somebody removed the file meanwhile, our lock is on a file that nobody else uses.
            let own = try sys_attributes(of: file.number, "fstat state")
            var found = sys_attributes()
            if unsafe sys_statat(folder.number, name, &found) == 0, found.isSame(as: own) {
                self.file = file
                isMarked = isHeld && found.size > 0
                return
            }
            _ = sys_lock(file.number, sys_lock_none, 0)
        }
    }

    /// Takes the lock without waiting; nil, without the lock, when `isUnchanged` returns false.
    ///
    /// - Parameters:
    ///   - name: of the lock file.
    ///   - folder: the folder that holds it.
    ///   - isUnchanged: called with the lock held: whether the file still has its name.
    /// - Throws: ``RootError/busy`` when another process holds the lock; ``RootError/notFound`` without a lock file.
    init?(
        named name: String, folder: IdentifiedDescriptor, while isUnchanged: () -> Bool
    ) throws(RootError) {
        file = try Self.open(name, in: folder, creating: false)
        try Self.acquire(file.number, until: .now)
        self.folder = folder
        isMarked = false
        guard !isUnchanged() else { return }
        release()
        return nil
    }

    /// Takes the lock once more: a host that was cut off from the file system may have lost it without noticing.
    func reassert() throws(RootError) {
        let status = sys_lock(file.number, sys_lock_exclusive, 0)
        if status < 0 && !Self.meansUnsupported(status) { throw .busy }
    }

    func release() { _ = sys_lock(file.number, sys_lock_none, 0) }

    private static func open(
        _ name: String, in folder: IdentifiedDescriptor, creating: Bool
    ) throws(RootError) -> SharedDescriptor {
        let flags = O_RDWR | O_NOFOLLOW | (creating ? O_CREAT : 0)
        let opened = unsafe sys_openat(folder.number, name, flags, 0o600)
        if opened == -ENOENT, !creating { throw .notFound }
        // The state of an earlier start as another user, of which the log told at the start.
        if opened == -EACCES || opened == -EPERM { throw .forbidden }
        try checkState(opened, "open a lock in .shareserve", name)
        return SharedDescriptor(Descriptor(owning: opened))
    }

    /// Waits for a lock on any file of the state, open for writing.
    /// - Returns: false on a file system without locks, where only this process's own threads exclude each other.
    /// - Throws: ``RootError/busy`` when another process still holds it at `deadline`.
    @discardableResult
    static func acquire(_ file: Int32, until deadline: ContinuousClock.Instant) throws(RootError) -> Bool {
        var pause: UInt32 = 50
        while true {
            let status = sys_lock(file, sys_lock_exclusive, 0)
            if status == 0 { return true }
            if meansUnsupported(status) { return false }
            guard status == -EAGAIN || status == -EACCES else {
                throw .system(errno: -status, call: "lock a file in .shareserve")
            }
            guard ContinuousClock.now < deadline else { throw .busy }
            usleep(pause)
            pause = min(pause * 2, 5_000)
        }
    }

    private static func meansUnsupported(_ status: Int32) -> Bool {
        [-ENOLCK, -EOPNOTSUPP, -ENOSYS, -EINVAL].contains(status)
    }
}
