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
    let folder: OpenDescriptor
    private let file: OpenDescriptor
    private let name: String

    /// Waits for the lock, for as long as `patience` lasts.
    ///
    /// `kept` is the lock file that the last holder in this process left open.
    init(
        named name: String, folder: OpenDescriptor, kept: inout OpenDescriptor?,
        patience: Duration = StateFolder.patience
    ) throws(RootError) {
        self.folder = folder
        self.name = name
        let deadline = ContinuousClock.now + patience
        while true {
            let file: OpenDescriptor
            if let kept { file = kept } else { file = try Self.open(name, in: folder) }
            kept = file
            try Self.acquire(file, until: deadline)
            // Whoever removed the file while we waited has made our lock one on nothing.
            var found = sys_attributes()
            if unsafe sys_statat(folder.number, name, &found) == 0, file.is(found) {
                self.file = file
                return
            }
            _ = sys_lock(file.number, sys_lock_none, 0)
            kept = nil
        }
    }

    /// Asks for the lock once more: a host that was cut off may have lost it without noticing.
    func reassert() throws(RootError) {
        let status = sys_lock(file.number, sys_lock_exclusive, 0)
        if status < 0 && !Self.meansUnsupported(status) { throw .tooMany }
    }

    func release() { _ = sys_lock(file.number, sys_lock_none, 0) }

    private static func open(_ name: String, in folder: OpenDescriptor) throws(RootError) -> OpenDescriptor {
        let opened = unsafe sys_openat(folder.number, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
        try check(opened, "open .shareserve/lock")
        return try OpenDescriptor(adopting: opened)
    }

    private static func acquire(_ file: OpenDescriptor, until deadline: ContinuousClock.Instant) throws(RootError) {
        var pause: UInt32 = 50
        while true {
            let status = sys_lock(file.number, sys_lock_exclusive, 0)
            // A file system without locks leaves the exclusion of this process's own threads.
            if status == 0 || meansUnsupported(status) { return }
            guard status == -EAGAIN || status == -EACCES else {
                throw RootError(status, "lock .shareserve/lock")
            }
            guard ContinuousClock.now < deadline else { throw .tooMany }
            usleep(pause)
            pause = min(pause * 2, 5_000)
        }
    }

    static func meansUnsupported(_ status: Int32) -> Bool {
        [-ENOLCK, -EOPNOTSUPP, -ENOSYS, -EINVAL].contains(status)
    }
}
