import CSyscalls

/// A note in the scratch folder about a tree that is, or after a power cut may be, out of sight.
///
/// One of: a tree being deleted (with its old path); an unfinished copy (with a path only where it is built beside its
/// name); the hidden source of a move, put back unless ``condemn()`` was called; a copy that has its name, until that
/// name is durable.
///
/// Whoever works on the tree holds a lock on the note. A note without a lock is left by a killed process, and whoever
/// looks next finishes the work: what can't be removed gets its name back, and is never left out of sight.
///
/// Created, found and locked under the commit lock.
final class RemovalNote: Sendable {
    private static let suffix = Array(".removal".utf8)
    private static let longest = 8_192
    /// The content of a note without a path; no path begins with NUL.
    private static let nowhere: [UInt8] = [0]
    /// Before the path of a tree to be put back; the second byte is replaced by that of ``going`` when it may be
    /// removed.
    private static let returning: [UInt8] = [0, 1]
    private static let going: [UInt8] = [0, 2]
    /// Before the path of a copy that has its name, which a power cut may undo.
    private static let arrived: [UInt8] = [0, 3]
    /// The same for a copy on another file system than the root's.
    private static let arrivedElsewhere: [UInt8] = [0, 4]
    /// Before the path of a tree to be put back on another file system than the root's.
    private static let returningElsewhere: [UInt8] = [0, 5]
    /// Before the path that an unfinished copy is to have, which is built beside that.
    private static let beside: [UInt8] = [0, 6]
    /// More than enough time for a file system to write a name to the disk.
    private static let arrival: Duration = .seconds(600)
    private let place: ScratchPlace
    private let file: Descriptor

    /// Notes that what is hidden as `name` was at `path`; nil when no note can be kept.
    convenience init?(_ name: [UInt8], at path: SharePath, in root: DirectoryRoot) {
        self.init(name, path.bytes, isDurable: root.policy.waitsForDisk, in: root)
    }

    /// The same for what gets its name back unless ``condemn()`` is called.
    convenience init?(returning place: ScratchPlace, to path: SharePath, in root: DirectoryRoot) {
        let kind = root.scratch.isElsewhere(place.directory.number) ? Self.returningElsewhere : Self.returning
        self.init(place.name, kind + path.bytes, isDurable: root.policy.waitsForDisk, in: root)
    }

    /// Notes that what will be at `place` is of no use until it has the name `path`; nil when no note can be kept.
    ///
    /// Later the place may hold what the name stood for before. If a power cut destroys the note, the leftover is
    /// removed after a day instead.
    convenience init?(unfinished place: ScratchPlace, to path: SharePath, in root: DirectoryRoot) {
        let content = root.scratch.holds(place) ? Self.nowhere : Self.beside + path.bytes
        self.init(place.name, content, isDurable: false, in: root)
    }

    /// Notes that what was at `place` has the name `path` now; the note is on the disk before anything else happens.
    ///
    /// For something that exists nowhere else, when it is unknown whether the disk has that name yet. The note stays
    /// when this object is released.
    convenience init?(arrivedFrom place: ScratchPlace, at path: SharePath, in root: DirectoryRoot) {
        let kind = root.scratch.isElsewhere(place.directory.number) ? Self.arrivedElsewhere : Self.arrived
        self.init(place.name, kind + path.bytes, isDurable: true, in: root)
    }

    private init?(_ name: [UInt8], _ content: [UInt8], isDurable: Bool, in root: DirectoryRoot) {
        guard let folder = try? root.scratch.folder() else { return nil }
        place = ScratchPlace(directory: folder, name: name + Self.suffix)
        let answer = place.open(O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, permissions: 0o600)
        guard answer >= 0 else { return nil }
        file = Descriptor(owning: answer)
        guard sys_lock(answer, sys_lock_exclusive, 0) == 0,
            unsafe content.withUnsafeBytes({ unsafe sys_write(answer, $0.baseAddress, $0.count) }) == content.count,
            !isDurable
                || sys_fsync(answer) == 0 && (try? WriteBack.waitForNames(in: folder.number)) != nil
        else {
            end()
            return nil
        }
    }

    /// Takes over a note that nobody has locked; nil when somebody has, or where there are no locks.
    private init?(found name: [UInt8], in folder: SharedDescriptor) {
        place = ScratchPlace(directory: folder, name: name)
        let answer = place.open(O_RDWR | O_NOFOLLOW | O_NONBLOCK)
        guard answer >= 0 else { return nil }
        file = Descriptor(owning: answer)
        guard sys_lock(answer, sys_lock_exclusive, 0) == 0 else { return nil }
    }

    /// Whether a name in the scratch folder is a note's.
    static func isNote(_ name: [UInt8]) -> Bool { name.suffix(suffix.count) == suffix[...] }

    /// Whether there is a note about what is hidden as `name`, which has to be dealt with first.
    static func exists(of name: [UInt8], in folder: SharedDescriptor) -> Bool {
        var status = sys_attributes()
        return unsafe CString.with(name + suffix) { unsafe sys_statat(folder.number, $0, &status) } != -ENOENT
    }

    /// What was to be put back may be removed now: its copy is complete.
    ///
    /// If that can't be written, or is lost, it is put back beside its copy.
    func condemn() {
        _ = unsafe Self.going.withUnsafeBytes { unsafe sys_pwrite(file.number, $0.baseAddress, $0.count, 0) }
    }

    /// What was unfinished has the name `path` now, as for ``init(arrivedFrom:at:in:)``.
    /// - Returns: whether that is noted; false for what was built beside its name.
    func arrive(at path: SharePath) -> Bool {
        guard read() == Self.nowhere else { return false }
        let content = Self.arrived + path.bytes
        let written = unsafe content.withUnsafeBytes {
            unsafe sys_pwrite(file.number, $0.baseAddress, $0.count, 0)
        }
        return written == content.count && sys_fsync(file.number) == 0
    }

    /// The tree is removed, or visible again.
    func end() { place.unlink() }

    /// Finishes what killed processes left.
    static func finishAll(in root: DirectoryRoot) {
        guard let folder = root.scratch.existingFolder(), let names = try? names(in: folder) else { return }
        // All of them each time: some stay for weeks, most of them with nothing to do, and must not keep the others
        // waiting.
        for start in stride(from: 0, to: names.count, by: mostAtOnce) {
            let some = names[start..<min(start + mostAtOnce, names.count)]
            let notes = try? root.commitLock.withLock { () throws(RootError) in
                some.compactMap { RemovalNote(found: $0, in: folder) }
            }
            for note in notes ?? [] { note.finish(in: root) }
        }
    }

    /// The most notes taken over under one hold of the commit lock: each is open until it is finished.
    private static let mostAtOnce = 128

    private static func names(in folder: SharedDescriptor) throws(RootError) -> [[UInt8]] {
        var found: [[UInt8]] = []
        var reader = DirectoryReader(descriptor: folder.number)
        while let record = try unsafe reader.next() {
            let name = unsafe Array(record.bytes)
            if isNote(name) { found.append(name) }
        }
        return found
    }

    private func finish(in root: DirectoryRoot) {
        // What can't be read now stays noted.
        guard let content = read() else { return }
        guard content != Self.nowhere else {
            return forget(ScratchPlace(directory: place.directory, name: hiddenName), in: root)
        }
        let isMarked = content.first == Self.nowhere[0]
        guard let path = try? SharePath(bytes: content.dropFirst(isMarked ? Self.going.count : 0)), !path.isRoot
        else { return end() }
        guard let tree = hidden(below: path, in: root) else {
            if isOver(content, path, in: root) { end() }
            return
        }
        if content.starts(with: Self.beside) { return forget(tree, in: root) }
        // What can't be put back now stays noted for later.
        guard isMarked, !content.starts(with: Self.going) else {
            if (try? root.takeApart(tree, from: path)) != nil { end() }
            return
        }
        if (try? root.restore(tree, to: path)) != nil { end() }
    }

    /// Whether a note about something that is not there has no purpose any more.
    private func isOver(_ content: [UInt8], _ path: SharePath, in root: DirectoryRoot) -> Bool {
        // What is to be put back and is not there may be on a disk that is not mounted now.
        if content.starts(with: Self.returning) { return isAt(path, in: root) }
        if content.starts(with: Self.returningElsewhere) { return isAt(path, isElsewhere: true, in: root) }
        let isElsewhere = content.starts(with: Self.arrivedElsewhere)
        guard isElsewhere || content.starts(with: Self.arrived) else { return true }
        let age = (try? file.status()).map { RootClock.system.wall().since($0.modificationTime) } ?? .zero
        return age > RenameJournal.absence
            || age > Self.arrival
                && (isAt(path, isElsewhere: isElsewhere, in: root)
                    || isMounted(path, isElsewhere: isElsewhere, in: root))
    }

    /// Whether the file system that held a name is mounted: if the name can't be seen then, it was changed or removed.
    private func isMounted(_ path: SharePath, isElsewhere: Bool, in root: DirectoryRoot) -> Bool {
        var path = path
        while !path.isRoot {
            if let location = try? root.locate(path, followsLink: false) {
                // Without its mount, this is the empty folder at the mount point, on the root's file system.
                guard !isElsewhere || root.scratch.isElsewhere(location.directory.number) else { return false }
                return WriteBack.mayLackNames(at: location.directory.number)
            }
            path = path.parent
        }
        return false
    }

    /// Removes what never had a name, or has lost it.
    private func forget(_ tree: ScratchPlace, in root: DirectoryRoot) {
        // A pending rename note may be about it: decide only once that is finished.
        guard (try? RenameJournal.hasNotes(in: place.directory)) == false else { return }
        let forget = (try? root.state.properties.forgetting()) ?? nil
        _ = TreeRemoval.remove(tree.name, in: tree.directory.number, isOurs: true, forget: forget)
        end()
    }

    /// What the thing is hidden as.
    private var hiddenName: [UInt8] { place.name.dropLast(Self.suffix.count) }

    /// The content; nil when the disk does not give it.
    private func read() -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: Self.longest)
        let count = unsafe bytes.withUnsafeMutableBytes { unsafe sys_pread(file.number, $0.baseAddress, $0.count, 0) }
        return count < 0 ? nil : Array(bytes[..<count])
    }

    /// Whether something has this name; with `isElsewhere`, on another file system than the root's: while that is not
    /// mounted, people may put something of the same name into the folder at its mount point.
    private func isAt(_ path: SharePath, isElsewhere: Bool = false, in root: DirectoryRoot) -> Bool {
        guard let location = try? root.locate(path, followsLink: false), location.status != nil else { return false }
        return !isElsewhere || root.scratch.isElsewhere(location.directory.number)
    }

    /// Where the tree is: in the scratch folder, or, on another file system, in the folder that it was in.
    private func hidden(below path: SharePath, in root: DirectoryRoot) -> ScratchPlace? {
        let name = hiddenName
        var status = sys_attributes()
        func isThere(_ directory: Int32) -> Bool {
            unsafe CString.with(name) { unsafe sys_statat(directory, $0, &status) } == 0
        }
        if isThere(place.directory.number) { return ScratchPlace(directory: place.directory, name: name) }
        guard let location = try? root.locate(path, followsLink: false), isThere(location.directory.number) else {
            return nil
        }
        return try? location.place(named: name)
    }
}
