import CSyscalls

/// A note in the scratch folder about a tree that is to be taken apart: where it stood, or that it stood nowhere yet,
/// as a copy that is being made; or about one of which it is still to be found out whether it may go, and which comes
/// back until then; or about a copy that has its name, unless a power cut takes that back.
///
/// Who takes the tree apart, or makes the copy, holds a lock on the note. One that nobody holds is of a process that
/// was killed, and the next to look goes on: what can't be removed gets its name back, and is never left out of sight.
///
/// Made, found and locked under the commit lock.
final class RemovalNote: Sendable {
    private static let suffix = Array(".removal".utf8)
    private static let longest = 8_192
    /// Stands for no path at all; no path begins with a zero.
    private static let nowhere: [UInt8] = [0]
    /// Before the path of what comes back; the second byte is replaced by another when it may go.
    private static let returning: [UInt8] = [0, 1]
    private static let going: [UInt8] = [0, 2]
    /// Before the path of what has its name, unless a power cut takes that back.
    private static let arrived: [UInt8] = [0, 3]
    /// The same of what is on another file system than the root.
    private static let arrivedElsewhere: [UInt8] = [0, 4]
    /// What comes back to another file system than the root's.
    private static let returningElsewhere: [UInt8] = [0, 5]
    /// How long a file system may take to have a name on the disk, and more.
    private static let arrival: Duration = .seconds(600)
    /// How long it is waited for a disk that was taken out.
    private static let absence: Duration = .seconds(30 * 86_400)
    private let place: ScratchPlace
    private let file: Descriptor

    /// Notes that what is hidden as `name` stood at `path`; nil where no note can be kept.
    convenience init?(_ name: [UInt8], at path: SharePath, in root: DirectoryRoot) {
        self.init(name, path.bytes, isDurable: root.policy.waitsForDisk, in: root)
    }

    /// The same of what has its name back when nobody has said that it may go; see ``condemn()``.
    convenience init?(returning place: ScratchPlace, to path: SharePath, in root: DirectoryRoot) {
        let kind = root.scratch.isElsewhere(place.directory.number) ? Self.returningElsewhere : Self.returning
        self.init(place.name, kind + path.bytes, isDurable: root.policy.waitsForDisk, in: root)
    }

    /// Notes that what will be at `place` is of no use until it has a name; nil where no note can be kept.
    ///
    /// What the place then holds may be what the name stood for before. After a power cut the note may be gone: a day
    /// must do then.
    convenience init?(unfinished place: ScratchPlace, in root: DirectoryRoot) {
        guard root.scratch.holds(place) else { return nil }
        self.init(place.name, Self.nowhere, isDurable: false, in: root)
    }

    /// Notes that what stood at `place` has the name `path` by now: on the disk before anything else happens.
    ///
    /// For what is nowhere else, where nobody can say whether the disk has that name. The note stays when it is let go
    /// of.
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

    /// Takes over a note that nobody holds; nil when somebody does, or where there are no locks.
    private init?(found name: [UInt8], in folder: SharedDescriptor) {
        place = ScratchPlace(directory: folder, name: name)
        let answer = place.open(O_RDWR | O_NOFOLLOW | O_NONBLOCK)
        guard answer >= 0 else { return nil }
        file = Descriptor(owning: answer)
        guard sys_lock(answer, sys_lock_exclusive, 0) == 0 else { return nil }
    }

    /// Whether a name in the scratch folder is a note's.
    static func isNote(_ name: [UInt8]) -> Bool { name.suffix(suffix.count) == suffix[...] }

    /// Whether there is a note of what is hidden as `name`, which is to be done before anything else.
    static func exists(of name: [UInt8], in folder: SharedDescriptor) -> Bool {
        var status = sys_attributes()
        return unsafe CString.with(name + suffix) { unsafe sys_statat(folder.number, $0, &status) } != -ENOENT
    }

    /// What was to come back may go now: its copy is whole.
    ///
    /// Where that can't be written, or is lost, it comes back beside its copy.
    func condemn() {
        _ = unsafe Self.going.withUnsafeBytes { unsafe sys_pwrite(file.number, $0.baseAddress, $0.count, 0) }
    }

    /// What was unfinished has the name `path` by now, as for ``init(arrivedFrom:at:in:)``.
    /// - Returns: whether that is noted.
    func arrive(at path: SharePath) -> Bool {
        let content = Self.arrived + path.bytes
        let written = unsafe content.withUnsafeBytes {
            unsafe sys_pwrite(file.number, $0.baseAddress, $0.count, 0)
        }
        return written == content.count && sys_fsync(file.number) == 0
    }

    /// The tree is gone, or shown again.
    func end() { place.unlink() }

    /// Goes on with what killed processes left.
    static func finishAll(in root: DirectoryRoot) {
        guard let folder = root.scratch.existingFolder(), let names = try? names(in: folder) else { return }
        // All of them each time: some stay for weeks, most of those with nothing to do, and keep none of the others
        // waiting.
        for start in stride(from: 0, to: names.count, by: mostAtOnce) {
            let some = names[start..<min(start + mostAtOnce, names.count)]
            let notes = try? root.commitLock.withLock { () throws(RootError) in
                some.compactMap { RemovalNote(found: $0, in: folder) }
            }
            for note in notes ?? [] { note.finish(in: root) }
        }
    }

    /// Notes that are taken over under one hold of the commit lock: each is open until it is finished.
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
        let content = read()
        guard content != Self.nowhere else { return forget(in: root) }
        let isMarked = content.first == Self.nowhere[0]
        guard let path = try? SharePath(bytes: content.dropFirst(isMarked ? Self.going.count : 0)), !path.isRoot
        else { return end() }
        guard let tree = hidden(below: path, in: root) else {
            if isOver(content, path, in: root) { end() }
            return
        }
        // What can't be shown now stays noted, for a later look.
        guard isMarked, !content.starts(with: Self.going) else {
            if (try? root.takeApart(tree, from: path)) != nil { end() }
            return
        }
        if (try? root.restore(tree, to: path)) != nil { end() }
    }

    /// Whether a note of what is not there has nothing to say any more.
    private func isOver(_ content: [UInt8], _ path: SharePath, in root: DirectoryRoot) -> Bool {
        // What is to come back and is not here yet may be on a disk that is not either.
        if content.starts(with: Self.returning) { return isAt(path, in: root) }
        if content.starts(with: Self.returningElsewhere) { return isAt(path, isElsewhere: true, in: root) }
        let isElsewhere = content.starts(with: Self.arrivedElsewhere)
        guard isElsewhere || content.starts(with: Self.arrived) else { return true }
        let age = (try? file.status()).map { RootClock.system.wall().since($0.modificationTime) } ?? .zero
        return age > Self.absence
            || age > Self.arrival
                && (isAt(path, isElsewhere: isElsewhere, in: root)
                    || isMounted(path, isElsewhere: isElsewhere, in: root))
    }

    /// Whether the file system that a name was on is there: what is not to be seen on it now has another name, or none.
    private func isMounted(_ path: SharePath, isElsewhere: Bool, in root: DirectoryRoot) -> Bool {
        var path = path
        while !path.isRoot {
            if let location = try? root.locate(path, followsLink: false) {
                // Where another one was mounted, and is not, is the folder below it, which is the root's.
                guard !isElsewhere || root.scratch.isElsewhere(location.directory.number) else { return false }
                return WriteBack.mayLackNames(at: location.directory.number)
            }
            path = path.parent
        }
        return false
    }

    /// Removes what has no name, and never had one or lost it.
    private func forget(in root: DirectoryRoot) {
        // A rename that is noted may need it: only what is done then can be told.
        guard (try? RenameJournal.hasNotes(in: place.directory)) == false else { return }
        let name = place.name.dropLast(Self.suffix.count)
        let forget = (try? root.state.properties.forgetting()) ?? nil
        _ = TreeRemoval.remove(Array(name), in: place.directory.number, isOurs: true, forget: forget)
        end()
    }

    private func read() -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: Self.longest)
        let count = unsafe bytes.withUnsafeMutableBytes { unsafe sys_pread(file.number, $0.baseAddress, $0.count, 0) }
        return Array(bytes.prefix(max(0, count)))
    }

    /// Whether anything has a name; where `isElsewhere`, on another file system than the root's: while that is not
    /// mounted, people may put something of the same name into the folder below.
    private func isAt(_ path: SharePath, isElsewhere: Bool = false, in root: DirectoryRoot) -> Bool {
        guard let location = try? root.locate(path, followsLink: false), location.status != nil else { return false }
        return !isElsewhere || root.scratch.isElsewhere(location.directory.number)
    }

    /// Where the tree stands: in the scratch folder, or, on another file system, where it stood.
    private func hidden(below path: SharePath, in root: DirectoryRoot) -> ScratchPlace? {
        let name = Array(place.name.dropLast(Self.suffix.count))
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
