import CSyscalls

/// What to wait for until the disk has the names in a directory.
///
/// Found out as soon as they have changed, and waited for there or later. A folder that takes names and shows none
/// can't be asked, but all that its file system has, which may be much: by whatever of it can be opened. Where that is
/// nothing, there is nobody to ask, as on disks that have nothing to say about directories: a change that was made is
/// not called refused.
struct NameSync: Sendable {
    private let opened: SharedDescriptor
    /// Whether it is for all that the file system has.
    let isOfAll: Bool

    /// Folders above that are tried.
    private static let mostFolders = 64

    /// - Parameters:
    ///   - directory: open for `*at` calls at least.
    ///   - root: at or above it, beyond which nothing is opened; nil to open nothing above it.
    ///   - file: on its file system, open in any way that is no path only; nil for none.
    ///   - andAll: whether all that the file system has is to be waited for, too.
    /// - Throws: what opening the directory met, but that it shows nothing.
    init?(
        of directory: Int32, below root: Int32? = nil, having file: Int32? = nil, andAll: Bool = false
    ) throws(RootError) {
        let answer = unsafe sys_openat(directory, ".", O_RDONLY | O_DIRECTORY, 0)
        guard answer == -EACCES || answer == -EPERM else {
            opened = SharedDescriptor(try Descriptor(answer, "openat"))
            isOfAll = andAll
            return
        }
        guard let other = Self.anything(beside: directory, root, file) else { return nil }
        opened = other
        isOfAll = true
    }

    /// Waits for the disk.
    /// - Throws: what it says.
    func wait() throws(RootError) {
        guard isOfAll else { return try WriteBack.waitForNames(in: opened.number) }
        try check(sys_sync_all(opened.number), "syncfs")
    }

    /// Anything open on a directory's file system; nil where nothing can be.
    private static func anything(beside directory: Int32, _ root: Int32?, _ file: Int32?) -> SharedDescriptor? {
        if let file, let copy = try? Descriptor(sys_dup(file), "dup") { return SharedDescriptor(copy) }
        let unnamed = unsafe sys_openat(directory, ".", sys_o_tmpfile | O_RDWR, 0o600)
        if unnamed >= 0 { return SharedDescriptor(Descriptor(owning: unnamed)) }
        return root.flatMap { folder(above: directory, below: $0) }
    }

    /// A folder above another one, on the same file system and not above the root, that lets itself be read.
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
