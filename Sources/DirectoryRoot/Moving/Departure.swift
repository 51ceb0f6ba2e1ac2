import CSyscalls

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// The source of a move to another file system, which is removed once its copy has its name.
///
/// Created and used under the commit lock. Everything that could fail for lack of memory or descriptors is done on
/// creation, before the copy gets its name.
final class Departure {
    private let place: ScratchPlace
    private let status: sys_attributes
    private let fingerprint: TreeFingerprint?
    private var hidings: [Hiding] = []
    /// Whether what has become of the source, and of its copy, must not be undone any more.
    private var isSettled = false
    /// Where the source is, from the root.
    let path: SharePath
    /// Whether it is a folder.
    var isDirectory: Bool { status.isDirectory }

    /// A place where a folder can be hidden, with a note that it is to be put back.
    private struct Hiding {
        let place: ScratchPlace
        let note: RemovalNote
    }

    /// - Parameters:
    ///   - source: where it is.
    ///   - fingerprint: of its contents as they were copied: it is removed only if they still match; nil for a file.
    ///   - root: for the names of hidden places.
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

    /// Whether the copy that just got its name is what is under the source's name now: the two are one place, because
    /// one directory is mounted at both.
    var isTheCopy: Bool { now.map { !$0.isSame(as: status) } ?? false }

    /// Whether the source is under its name, as before, and stays there.
    var isHere: Bool { !isSettled && now.map { $0.isSame(as: status) } ?? false }

    /// Finds out whether the source may be removed, as far as that can be told beforehand: not everybody may remove
    /// from a sticky directory, and nobody from a read-only mount.
    /// - Throws: what forbids it.
    func rehearse() throws(RootError) {
        guard !status.isDirectory else { return try requireMovable() }
        // Removing a file as a directory (or the reverse) fails only after everything else was checked.
        let answer = unsafe place.withName { unsafe sys_unlinkat(place.directory.number, $0, 1) }
        let obstacle = RootError(answer, "unlinkat")
        if obstacle == .forbidden || obstacle == .readOnly { throw obstacle }
    }

    /// The same for a folder, for which no call fails after all checks and before it does anything.
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

    /// Whether the source, a file, has not been written to since this was created.
    var isUnchanged: Bool { now.map { FileStamp($0) == FileStamp(status) } ?? false }

    /// What is under the source's name; nil when nothing is.
    private var now: sys_attributes? {
        var found = sys_attributes()
        return place.look(&found) == 0 ? found : nil
    }

    /// Removes the source's name.
    /// - Returns: what is left to be removed, in its place or out of sight; nil when nothing is.
    /// - Throws: what forbids it; ``RootError/changedMeanwhile`` when it was written to until now. Then the source is there as
    ///   before, if ``isHere`` is true.
    func go(_ root: DirectoryRoot) throws(RootError) -> Share.DoomedTree? {
        guard status.isDirectory else {
            try check(place.unlink(), "unlinkat")
            isSettled = true
            return nil
        }
        for (index, hiding) in hidings.enumerated() where root.rename(place, to: hiding.place) == 0 {
            // The unused hiding places have nothing to put back.
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
        // What can't be hidden is removed in its place, except what others change in it meanwhile.
        try requireUnchanged(place)
        isSettled = true
        return Share.DoomedTree(place: place, path: path, isInPlace: true, changedBy: fingerprint?.newest)
    }

    /// Gives the source its name back; if something else has that name by now, the next free one.
    /// - Throws: why it does not have its name, or what kept the disk from recording it: then the copy must stay.
    private func putBack(_ hidden: ScratchPlace, _ root: DirectoryRoot) throws(RootError) {
        var answer = root.rename(hidden, to: place)
        if answer != 0 {
            answer = root.exchange(hidden, with: place)
            // If it has no name yet, the note gives it one sooner or later.
            let isShown = (try? root.nameAgain(hidden, path)) != nil
            if !isShown { hidings = [] }
        }
        // The client must not be told to try again: things are not as they were.
        guard answer == 0 else {
            isSettled = true
            throw .system(errno: -answer, call: "put back the source of a move")
        }
        do throws(RootError) {
            // Before the copy is removed, which may be all that is on a disk.
            try syncDirectory(in: root)
        } catch {
            isSettled = true
            throw error
        }
    }

    /// Makes sure that the hidden source is still what was copied: nobody reaches it by its name any more.
    private func requireUnchanged(_ place: ScratchPlace) throws(RootError) {
        guard let fingerprint else { return }
        let tree = try Descriptor(place.open(O_RDONLY | O_DIRECTORY | O_NOFOLLOW), "openat")
        guard try TreeFingerprint(of: tree.number) == fingerprint else { throw .changedMeanwhile }
    }

    /// Makes it durable that the source has lost its name, or has it again.
    /// - Parameter root: the share's root.
    /// - Throws: what the disk reports; never ``RootError/tooMany``, since things are not as they were.
    func syncDirectory(in root: DirectoryRoot) throws(RootError) {
        try WriteBack.waitForNames(at: place.directory.number, below: root.descriptor)
    }
}
