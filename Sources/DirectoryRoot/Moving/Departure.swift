import CSyscalls

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// The source of a move to another file system, on its way out: it goes when its copy stands.
///
/// Made, and used, under the commit lock. All that could fail for want of memory or descriptors is done when it is
/// made, before the copy gets its name.
final class Departure {
    private let place: ScratchPlace
    private let status: sys_attributes
    private let fingerprint: TreeFingerprint?
    private var hidings: [Hiding] = []
    /// Whether what becomes of the source now, and of its copy, is nobody's to undo.
    private var isSettled = false
    /// Where the source is, from the root.
    let path: SharePath
    /// Whether it is a folder.
    var isDirectory: Bool { status.isDirectory }

    /// Where a folder may go out of everybody's sight, noted as what comes back.
    private struct Hiding {
        let place: ScratchPlace
        let note: RemovalNote
    }

    /// - Parameters:
    ///   - source: where it stands.
    ///   - fingerprint: what it holds, as it was copied: it goes only as that; nil for a file.
    ///   - root: for names that no door shows.
    /// - Throws: ``RootError/notFound`` when nothing is there; what the disk says.
    init(of source: borrowing Location, holding fingerprint: TreeFingerprint?, in root: DirectoryRoot) throws(RootError)
    {
        guard let status = source.status else { throw .notFound }
        self.status = status
        self.fingerprint = fingerprint
        path = source.path
        place = try source.place()
        guard status.isDirectory else { return }
        for place in try root.hiding(place) {
            guard let note = RemovalNote(returning: place, to: path, in: root) else { continue }
            hidings.append(Hiding(place: place, note: note))
        }
    }

    deinit { for hiding in hidings { hiding.note.end() } }

    /// Whether the copy that just got its name is what is under the source's name now: the two were one place, by a
    /// mount of one directory at two.
    var isTheCopy: Bool { now.map { !$0.isSame(as: status) } ?? false }

    /// Whether the source is under its name, as before, and stays there.
    var isHere: Bool { !isSettled && now.map { $0.isSame(as: status) } ?? false }

    /// Finds out whether the source may be taken away, as far as that can be told before: not everybody may out of a
    /// folder whose files are their owners', and nobody out of one that is mounted to be read only.
    /// - Throws: what forbids it.
    func rehearse() throws(RootError) {
        guard !status.isDirectory else { return try requireMovable() }
        // To remove it as what it is not fails only when all else is looked at.
        let answer = unsafe place.withName { unsafe sys_unlinkat(place.directory.number, $0, 1) }
        let obstacle = RootError(answer, "unlinkat")
        if obstacle == .forbidden || obstacle == .readOnly { throw obstacle }
    }

    /// The same of a folder, for which no call fails after all has been looked at and before anything is done.
    private func requireMovable() throws(RootError) {
        let directory = place.directory.number
        let parent = try sys_attributes(of: directory)
        let user = geteuid()
        if parent.isSticky, user != 0, parent.owner != user, status.owner != user {
            throw .forbidden
        }
        for name in [[UInt8(ascii: ".")], place.name] {
            let answer = unsafe CString.with(name) { name in
                unsafe faccessat(directory, name, W_OK | X_OK, AT_EACCESS) == 0 ? 0 : -errno
            }
            try check(answer, "faccessat")
        }
    }

    /// Whether nobody has written to the source, a file, since this was made.
    var isUnchanged: Bool { now.map { FileStamp($0) == FileStamp(status) } ?? false }

    /// What is under the source's name; nil when nothing is.
    private var now: sys_attributes? {
        var found = sys_attributes()
        return place.look(&found) == 0 ? found : nil
    }

    /// Takes the name away.
    /// - Returns: what is left to be removed, there or out of sight; nil when nothing is.
    /// - Throws: what forbids it; ``RootError/changedMeanwhile`` when it was written to until now. Then the source is there as
    ///   before, if ``isHere`` says so.
    func go(_ root: DirectoryRoot) throws(RootError) -> Share.DoomedTree? {
        guard status.isDirectory else {
            try check(place.unlink(), "unlinkat")
            isSettled = true
            return nil
        }
        for (index, hiding) in hidings.enumerated() where root.rename(place, to: hiding.place) == 0 {
            // Where it is not is nothing that comes back.
            for (other, unused) in hidings.enumerated() where other != index { unused.note.end() }
            hidings = [hiding]
            do throws(RootError) {
                try requireUnchanged(hiding.place)
            } catch {
                try putBack(hiding.place, root)
                throw error
            }
            isSettled = true
            hiding.note.condemn()
            hidings = []
            return Share.DoomedTree(place: hiding.place, path: path, note: hiding.note)
        }
        // What can't be hidden is taken apart in its place, but for what others do to it meanwhile.
        try requireUnchanged(place)
        isSettled = true
        return Share.DoomedTree(place: place, path: path, isInPlace: true, changedBy: fingerprint?.newest)
    }

    /// Gives the source its name back, and to what has that by now the next free one.
    /// - Throws: why it has not, or what kept the disk from noting it: the copy is to stay then.
    private func putBack(_ hidden: ScratchPlace, _ root: DirectoryRoot) throws(RootError) {
        var answer = root.rename(hidden, to: place)
        if answer != 0 {
            answer = root.exchange(hidden, with: place)
            // With the note it has a name sooner or later.
            let isShown = (try? root.nameAgain(hidden, path)) != nil
            if !isShown { hidings = [] }
        }
        // Nothing that begins anew finds all as it was.
        guard answer == 0 else {
            isSettled = true
            throw .system(errno: -answer, call: "put back the source of a move")
        }
        do throws(RootError) {
            // Before the copy goes, which may be all that is on a disk.
            try syncDirectory(in: root)
        } catch {
            isSettled = true
            throw error
        }
    }

    /// Nobody who comes by its name writes to the source any more: what it holds now has been copied, or comes back.
    private func requireUnchanged(_ place: ScratchPlace) throws(RootError) {
        guard let fingerprint else { return }
        let tree = try Descriptor(place.open(O_RDONLY | O_DIRECTORY | O_NOFOLLOW), "openat")
        guard try TreeFingerprint(of: tree.number) == fingerprint else { throw .changedMeanwhile }
    }

    /// Makes it durable that the name is gone.
    /// - Parameter root: the share's.
    /// - Throws: what the disk says.
    func syncDirectory(in root: DirectoryRoot) throws(RootError) {
        try WriteBack.waitForNames(at: place.directory.number, below: root.descriptor)
    }
}
