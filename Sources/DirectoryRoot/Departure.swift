import CSyscalls

/// The source of a move to another file system, on its way out: it goes when its copy stands.
///
/// Made, and used, under the commit lock. All that could fail for want of memory or descriptors is done when it is
/// made, before the copy gets its name.
final class Departure {
    private let place: ScratchPlace
    private let status: sys_attributes
    private let hidden: [ScratchPlace]
    /// Where the source from the root is.
    let path: SharePath

    /// - Parameters:
    ///   - source: where it stands.
    ///   - root: for names that no door shows.
    /// - Throws: ``RootError/notFound`` when nothing is there; ``RootError/tooMany``.
    init(of source: borrowing Location, in root: DirectoryRoot) throws(RootError) {
        guard let status = source.status else { throw .notFound }
        self.status = status
        path = source.path
        place = try source.place()
        hidden = status.isDirectory ? try root.hiding(place) : []
    }

    /// Whether the copy that just got its name is what is under the source's name now: the two were one place, by a
    /// mount of one directory at two.
    var isTheCopy: Bool {
        var now = sys_attributes()
        return unsafe place.withName { unsafe sys_statat(place.directory.number, $0, &now) } == 0
            && !now.isSame(as: status)
    }

    /// Whether the source still is under its name.
    var isHere: Bool {
        var now = sys_attributes()
        return unsafe place.withName { unsafe sys_statat(place.directory.number, $0, &now) } == 0
            && now.isSame(as: status)
    }

    /// Finds out whether a file may be taken away, as not everybody may out of a folder whose files are their owners'.
    /// - Throws: what forbids it.
    func rehearse() throws(RootError) {
        guard !status.isDirectory else { return }
        // To remove it as what it is not fails only when all else is looked at.
        let answer = unsafe place.withName { unsafe sys_unlinkat(place.directory.number, $0, 1) }
        let obstacle = RootError(answer, "unlinkat")
        if obstacle == .forbidden || obstacle == .readOnly { throw obstacle }
    }

    /// Takes the name away.
    /// - Returns: what is left to be removed, there or out of sight; nil when nothing is.
    /// - Throws: what forbids it; then the source is there as before.
    func go(_ root: DirectoryRoot) throws(RootError) -> Share.DoomedTree? {
        guard status.isDirectory else {
            try unsafe check(place.withName { unsafe sys_unlinkat(place.directory.number, $0, 0) }, "unlinkat")
            return nil
        }
        for hidden in hidden {
            let note = RemovalNote(hidden.name, at: path, in: root)
            if root.rename(place, to: hidden) == 0 {
                return Share.DoomedTree(place: hidden, path: path, note: note)
            }
            note?.end()
        }
        // What can't be hidden is taken apart in its place.
        return Share.DoomedTree(place: place, path: path, isInPlace: true)
    }

    /// Makes it durable that the name is gone.
    func syncDirectory() throws(RootError) { try WriteBack.waitForNames(at: place.directory.number) }
}
