import CSyscalls

/// A file on its way to a name: unnamed where the file system can, else under a reserved name.
///
/// Dropped before it was ``place(at:of:)``d, it leaves nothing behind. `@unchecked` since it goes from the task that
/// makes it to those that write and name it; only one at a time has to do with it.
final class TemporaryFile: @unchecked Sendable {
    let descriptor: Int32
    /// Where the file stands for now; nil while it is unnamed, and after it got its name.
    private var scratch: ScratchPlace?
    /// Whether the disk could not keep all of it.
    private(set) var isDamaged = false

    /// Whether it stands nowhere yet; asked before ``place(at:of:)`` only, which forgets where it stood.
    var isUnnamed: Bool { scratch == nil }

    private init(descriptor: Int32, scratch: ScratchPlace?) {
        self.descriptor = descriptor
        self.scratch = scratch
    }

    deinit {
        scratch?.unlink()
        _ = sys_close(descriptor)
    }

    /// What is asked for a file that is nobody's secret; the process's umask takes some of it away.
    static let usual: UInt32 = 0o666

    /// Makes an empty file on the file system of `directory`.
    /// - Parameters:
    ///   - root: whose abilities and scratch folder count.
    ///   - directory: of which the file will be a member.
    ///   - permissions: as `open` is given them.
    /// - Throws: what making it met.
    convenience init(
        in root: DirectoryRoot, near directory: borrowing Descriptor, permissions: UInt32 = usual
    ) throws(RootError) {
        if root.abilities.unnamedFiles, sys_o_tmpfile != 0 {
            let answer = unsafe sys_openat(directory.number, ".", O_RDWR | sys_o_tmpfile, permissions)
            switch -answer {
            case EOPNOTSUPP, ENOTSUP, EISDIR, EINVAL, ENOSYS, ENOENT: break
            // What ext4 says of a folder that was removed.
            case EPERM where (try? directory.status())?.links == 0: break
            default:
                self.init(descriptor: try check(answer, "open unnamed"), scratch: nil)
                return
            }
        }
        try self.init(named: root.scratch.place(near: directory), permissions)
    }

    private convenience init(named place: ScratchPlace, _ permissions: UInt32) throws(RootError) {
        let answer = place.open(O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, permissions: permissions)
        self.init(descriptor: try check(answer, "openat"), scratch: place)
        ScratchFolder.markInUse(answer)
    }

    /// Takes over a file that has a name in a directory of the server's own.
    convenience init(adopting descriptor: consuming Descriptor, named place: ScratchPlace) {
        self.init(descriptor: descriptor.release(), scratch: place)
    }

    /// What the file is now.
    func status() throws(RootError) -> sys_attributes { try sys_attributes(of: descriptor) }

    /// Waits until the data may not be overtaken by a name; see ``WriteBack``.
    func order(durably: Bool) throws(RootError) {
        isDamaged = true
        // The file systems that have unnamed files keep what they took.
        try WriteBack.wait(for: descriptor, durably: durably, flushes: !isUnnamed)
        isDamaged = false
    }

    /// Gives the file its name.
    /// - Parameters:
    ///   - location: freshly looked at, under the commit lock.
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

    /// Gives an unnamed file a name that no door shows.
    func nameInScratch(near directory: borrowing Descriptor, of root: DirectoryRoot) throws(RootError) -> ScratchPlace {
        if let scratch { return scratch }
        // Nearly always it is where it was: to find out otherwise costs one call then, and four each time.
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

    /// Leaves the name to others, who gave it to something else or want to find the file there: nothing is cleaned up.
    func giveUpName() { scratch = nil }
}
