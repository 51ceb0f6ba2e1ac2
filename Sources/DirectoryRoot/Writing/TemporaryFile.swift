import CSyscalls

/// A file that has not got its name yet: unnamed if the file system supports that, else under a reserved name.
///
/// If released before ``place(at:of:)``, it leaves nothing behind. `@unchecked` since it is passed from the task that
/// creates it to those that write and name it; only one uses it at a time.
final class TemporaryFile: @unchecked Sendable {
    let descriptor: Int32
    /// Where the file is for now; nil while it is unnamed, and after it got its name.
    private var scratch: ScratchPlace?
    /// Whether it was created elsewhere than where it will get its name.
    let isAdopted: Bool
    /// Whether the disk could not keep all of it.
    private(set) var isDamaged = false

    /// Whether it has no name yet; valid only before ``place(at:of:)``, which forgets where the file was.
    var isUnnamed: Bool { scratch == nil }

    private init(descriptor: Int32, scratch: ScratchPlace?, isAdopted: Bool = false) {
        self.descriptor = descriptor
        self.scratch = scratch
        self.isAdopted = isAdopted
    }

    deinit {
        scratch?.unlink()
        _ = sys_close(descriptor)
    }

    /// The permissions requested for an ordinary file; the process's umask is applied to them.
    static let usual: UInt32 = 0o666

    /// Creates an empty file on the file system of `directory`.
    /// - Parameters:
    ///   - root: provides abilities and the scratch folder.
    ///   - directory: the directory that the file will be a member of.
    ///   - permissions: as passed to `open`.
    /// - Throws: what creating it met.
    convenience init(
        in root: DirectoryRoot, near directory: borrowing Descriptor, permissions: UInt32 = usual
    ) throws(RootError) {
        if root.abilities.unnamedFiles, sys_o_tmpfile != 0 {
            let answer = unsafe sys_openat(directory.number, ".", O_RDWR | sys_o_tmpfile, permissions)
            switch -answer {
            case EOPNOTSUPP, ENOTSUP, EISDIR, EINVAL, ENOSYS, ENOENT: break
            // The error of ext4 for a folder that was removed.
            case EPERM where (try? directory.status())?.links == 0: break
            default:
                self.init(descriptor: try check(answer, "open unnamed"), scratch: nil)
                return
            }
        }
        try self.init(named: root.scratch.place(near: directory, isNew: true), permissions)
    }

    private convenience init(named place: ScratchPlace, _ permissions: UInt32) throws(RootError) {
        let answer = place.open(O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, permissions: permissions)
        self.init(descriptor: try check(answer, "openat"), scratch: place)
        ScratchFolder.markInUse(answer)
    }

    /// Takes over a file that has a name in one of the server's own directories.
    convenience init(adopting descriptor: consuming Descriptor, named place: ScratchPlace) {
        self.init(descriptor: descriptor.release(), scratch: place, isAdopted: true)
    }

    /// The file's status.
    func status() throws(RootError) -> sys_attributes { try sys_attributes(of: descriptor) }

    /// Waits until the name can't reach the disk before the data; see ``WriteBack``.
    func order(durably: Bool) throws(RootError) {
        isDamaged = true
        // File systems with unnamed files report write errors without a flush.
        try WriteBack.wait(for: descriptor, durably: durably, flushes: !isUnnamed)
        isDamaged = false
    }

    /// Gives the file its name.
    /// - Parameters:
    ///   - location: examined just now, under the commit lock.
    ///   - root: for scratch names and abilities.
    /// - Throws: ``RootError/exists`` when nothing was there and now something is.
    func place(at location: borrowing Location, of root: DirectoryRoot) throws(RootError) {
        if location.status == nil {
            try placeAtFreeName(location, of: root)
        } else {
            let place = try nameInScratch(near: location.directory, of: root)
            let answer = unsafe place.withName { name in
                unsafe location.withName {
                    unsafe sys_renameat(place.directory.number, name, location.directory.number, $0)
                }
            }
            try check(answer, "renameat")
        }
        scratch = nil
    }

    private func placeAtFreeName(_ location: borrowing Location, of root: DirectoryRoot) throws(RootError) {
        guard let place = scratch else {
            let answer = unsafe location.withName {
                unsafe sys_link_descriptor(descriptor, location.directory.number, $0)
            }
            try check(answer, "linkat")
            return
        }
        try root.renameToFreeName(place, location)
    }

    /// Gives an unnamed file a reserved name.
    func nameInScratch(near directory: borrowing Descriptor, of root: DirectoryRoot) throws(RootError) -> ScratchPlace {
        if let scratch { return scratch }
        // The scratch folder is nearly always where it was: being wrong costs one call, and checking would cost four
        // each time.
        if let place = root.scratch.likelyPlace(), link(place) == 0 {
            scratch = place
            return place
        }
        var place = try root.scratch.place(near: directory)
        var answer = link(place)
        if answer == -EXDEV {
            place = try root.scratch.place(near: directory, besides: true)
            answer = link(place)
        }
        try check(answer, "linkat")
        scratch = place
        return place
    }

    private func link(_ place: ScratchPlace) -> Int32 {
        unsafe place.withName { unsafe sys_link_descriptor(descriptor, place.directory.number, $0) }
    }

    /// Leaves the name to others, who gave it to something else or are to find the file there: it is not removed.
    func giveUpName() { scratch = nil }
}
