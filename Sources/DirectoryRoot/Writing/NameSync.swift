import CSyscalls

/// What must be synced so that a directory's entries survive a power cut.
///
/// Normally the directory itself. A drop box (writable, not readable) can't be opened for fsync, so its whole file
/// system is synced, through any file of it that opens. If none opens, nothing is waited for, as on file systems that
/// can't sync directories: the change itself succeeded and must not be reported as refused. Determined as soon as the
/// names have changed; waited for then or later.
struct NameSync: Sendable {
    private let opened: SharedDescriptor
    /// Whether the whole file system is synced.
    let isOfAll: Bool

    /// The most folders above that are tried.
    private static let mostFolders = 64

    /// - Parameters:
    ///   - directory: open at least for `*at` calls.
    ///   - root: the folder, at or above `directory`, beyond which nothing is opened; nil to open nothing above it.
    ///   - file: an open file on its file system, not opened with `O_PATH`; nil for none.
    ///   - andAll: whether the whole file system is synced in any case.
    /// - Throws: what opening the directory met, except that it can't be read.
    init?(
        of directory: Int32, below root: Int32? = nil, having file: Int32? = nil, andAll: Bool = false
    ) throws(RootError) {
        let answer = unsafe sys_openat(directory, ".", O_RDONLY | O_DIRECTORY, 0)
        guard answer == -EACCES || answer == -EPERM else {
            // The names have changed: nobody must be told to try again.
            guard answer != -EMFILE, answer != -ENFILE else {
                throw .system(errno: -answer, call: "open a folder to sync it")
            }
            opened = SharedDescriptor(try Descriptor(answer, "openat"))
            isOfAll = andAll
            return
        }
        guard let other = Self.anything(beside: directory, root, file) else { return nil }
        opened = other
        isOfAll = true
    }

    /// Waits until the entries are on the disk.
    /// - Throws: what the disk reports.
    func wait() throws(RootError) {
        guard isOfAll else { return try WriteBack.waitForNames(in: opened.number) }
        try check(sys_sync_all(opened.number), "syncfs")
    }

    /// Anything that can be opened on a directory's file system; nil when nothing can.
    private static func anything(beside directory: Int32, _ root: Int32?, _ file: Int32?) -> SharedDescriptor? {
        if let file, let copy = try? Descriptor(sys_dup(file), "dup") { return SharedDescriptor(copy) }
        let unnamed = unsafe sys_openat(directory, ".", sys_o_tmpfile | O_RDWR, 0o600)
        if unnamed >= 0 { return SharedDescriptor(Descriptor(owning: unnamed)) }
        return root.flatMap { folder(above: directory, below: $0) }
    }

    /// A folder above another one, on the same file system and not above the root, that can be opened for reading.
    private static func folder(above directory: Int32, below root: Int32) -> SharedDescriptor? {
        var (own, top, here) = (sys_attributes(), sys_attributes(), sys_attributes())
        guard unsafe sys_fstat(directory, &own) == 0, unsafe sys_fstat(root, &top) == 0 else { return nil }
        here = own
        var way = ".."
        for _ in 0..<mostFolders {
            guard !here.isSame(as: top), unsafe sys_statat(directory, way, &here) == 0, here.device == own.device else {
                return nil
            }
            let answer = unsafe sys_openat(directory, way, O_RDONLY | O_DIRECTORY, 0)
            if answer >= 0 { return SharedDescriptor(Descriptor(owning: answer)) }
            guard answer == -EACCES || answer == -EPERM else { return nil }
            way += "/.."
        }
        return nil
    }
}
