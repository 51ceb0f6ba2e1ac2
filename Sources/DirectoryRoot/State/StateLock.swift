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
/// Gone with its holder.
///
/// Every change of state is made under the one called `lock`; names change under `commit`, which is taken first.
struct StateLock {
    let folder: IdentifiedDescriptor
    private let file: IdentifiedDescriptor
    /// Whether the lock file is not empty, and nobody else can hold the lock; see ``CommitLock/mark()``.
    let isMarked: Bool

    /// Waits for the lock, for as long as `patience` lasts.
    ///
    /// - Parameters:
    ///   - name: of the lock file.
    ///   - folder: that holds it.
    ///   - kept: the lock file that the last holder in this process left open.
    ///   - creating: whether a lock file that is not there is made.
    ///   - patience: how long to wait.
    /// - Throws: ``RootError/busy`` when another process keeps the lock for longer; ``RootError/notFound`` without a
    ///   lock file.
    init(
        named name: String, folder: IdentifiedDescriptor, kept: inout IdentifiedDescriptor?, creating: Bool = true,
        patience: Duration = StateFolder.patience
    ) throws(RootError) {
        self.folder = folder
        let deadline = ContinuousClock.now + patience
        while true {
            let file: IdentifiedDescriptor
            if let kept { file = kept } else { file = try Self.open(name, in: folder, creating: creating) }
            kept = file
            let isHeld = try Self.acquire(file, until: deadline)
            // Whoever removed the file while we waited has made our lock one on nothing.
            var found = sys_attributes()
            if unsafe sys_statat(folder.number, name, &found) == 0, file.isSame(as: found) {
                self.file = file
                isMarked = isHeld && found.size > 0
                return
            }
            _ = sys_lock(file.number, sys_lock_none, 0)
            kept = nil
        }
    }

    /// Takes the lock without waiting, on a file that is known to have its name as long as `isUnchanged` says so; nil,
    /// without the lock, when it does not.
    ///
    /// - Parameters:
    ///   - name: of the lock file.
    ///   - folder: that holds it.
    ///   - file: the lock file, left open by the last holder.
    ///   - isUnchanged: asked with the lock held.
    /// - Throws: ``RootError/busy`` when another process holds the lock.
    init?(
        named name: String, folder: IdentifiedDescriptor, file: IdentifiedDescriptor, while isUnchanged: () -> Bool
    ) throws(RootError) {
        try Self.acquire(file, until: .now)
        self.folder = folder
        self.file = file
        isMarked = false
        guard !isUnchanged() else { return }
        release()
        return nil
    }

    /// Asks for the lock once more: a host that was cut off may have lost it without noticing.
    func reassert() throws(RootError) {
        let status = sys_lock(file.number, sys_lock_exclusive, 0)
        if status < 0 && !Self.meansUnsupported(status) { throw .busy }
    }

    func release() { _ = sys_lock(file.number, sys_lock_none, 0) }

    private static func open(
        _ name: String, in folder: IdentifiedDescriptor, creating: Bool
    ) throws(RootError) -> IdentifiedDescriptor {
        let flags = O_RDWR | O_NOFOLLOW | (creating ? O_CREAT : 0)
        let opened = unsafe sys_openat(folder.number, name, flags, 0o600)
        try check(opened, "open a lock in .shareserve")
        return try IdentifiedDescriptor(adopting: opened, "fstat state")
    }

    /// Waits for the lock on any file of the state.
    /// - Returns: false on a file system without locks, which leaves the exclusion of this process's own threads.
    /// - Throws: ``RootError/busy`` when another process still holds it at `deadline`.
    @discardableResult
    static func acquire(_ file: IdentifiedDescriptor, until deadline: ContinuousClock.Instant) throws(RootError) -> Bool
    {
        var pause: UInt32 = 50
        while true {
            let status = sys_lock(file.number, sys_lock_exclusive, 0)
            if status == 0 { return true }
            if meansUnsupported(status) { return false }
            guard status == -EAGAIN || status == -EACCES else {
                throw RootError(status, "lock a file in .shareserve")
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
