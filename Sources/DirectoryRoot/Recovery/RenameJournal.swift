import CSyscalls
import Synchronization

/// A note in the scratch folder for the moment between two renames of which neither is of use without the other.
///
/// A process that is killed then leaves the note, and a mark on the commit lock; whoever takes that lock next, in this
/// process or another, finishes what was begun before anything else is written. Notes are written, removed and looked
/// for under that lock, so that a note that is found belongs to no living process.
struct RenameJournal {
    private static var kinds: [any RenameNote.Type] { [MoveNote.self, AsideNote.self, TakenNote.self] }
    private let place: ScratchPlace
    private let lock: CommitLock
    /// Whether this note has set the mark, and not another one that is left.
    private let hasMarked: Bool

    /// Writes a note; nil when there is no scratch folder.
    init?(_ note: some RenameNote, in root: DirectoryRoot) {
        guard let folder = try? root.scratch.folder() else { return nil }
        lock = root.commitLock
        place = ScratchPlace(directory: folder, name: Array(ReservedName.fresh().utf8) + type(of: note).suffix)
        let answer = place.open(O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, permissions: 0o600)
        guard answer >= 0 else { return nil }
        let file = Descriptor(owning: answer)
        // An incomplete note could name something else, so it is removed: what follows is as safe as without one.
        let bytes = note.bytes
        let written = unsafe bytes.withUnsafeBytes { unsafe sys_write(file.number, $0.baseAddress, $0.count) }
        guard written == bytes.count else {
            place.unlink()
            return nil
        }
        if type(of: note).outlivesPower, sys_fsync(file.number) == 0 {
            // If this fails, what follows is as safe as without a note.
            try? WriteBack.waitForNames(in: folder.number)
        }
        hasMarked = lock.mark()
    }

    /// Both renames are done, or neither was.
    func end() {
        // If the note can't be removed, it must become empty: later, other things may have its names or inode numbers.
        if place.unlink() < 0 {
            let opened = place.open(O_WRONLY | O_TRUNC | O_NOFOLLOW)
            if opened >= 0 { _ = sys_close(opened) }
        }
        if hasMarked { lock.unmark() }
    }

    /// Whether a name in the scratch folder is a note's.
    static func isNote(_ name: [UInt8]) -> Bool { kind(of: name) != nil }

    /// Whether the scratch folder contains any note.
    /// - Throws: what the disk reports.
    static func hasNotes(in folder: SharedDescriptor) throws(RootError) -> Bool {
        try unsafe DirectoryReader.lists(in: folder.number) { unsafe isNote(Array($0)) }
    }

    private static func kind(of name: [UInt8]) -> (any RenameNote.Type)? {
        kinds.first { name.suffix($0.suffix.count) == $0.suffix[...] }
    }

    /// Finishes what was interrupted: called at the start and from time to time.
    static func finishAll(in root: DirectoryRoot) throws(RootError) {
        guard root.scratch.existingFolder() != nil else { return }
        try root.commitLock.withLock { () throws(RootError) in _ = try finishNoted(in: root) }
        root.removeDoomed()
    }

    /// The same under the commit lock.
    ///
    /// What was replaced is put out of sight; removing it may take long, and is done later.
    /// - Returns: whether no note is left.
    /// - Throws: what the disk reports.
    static func finishNoted(in root: DirectoryRoot) throws(RootError) -> Bool {
        guard let folder = root.scratch.existingFolder() else { return true }
        var isDone = true
        var reader = DirectoryReader(descriptor: folder.number)
        while let record = try unsafe reader.next() {
            let name = unsafe Array(record.bytes)
            guard let kind = kind(of: name) else { continue }
            do throws(RootError) {
                let note = try read(name, in: folder.number)
                // What can't be found is looked for again from time to time; no write has to wait for that.
                if let finish = kind.init(note.bytes[...])?.finish, try !finish(root), note.age < absence { continue }
                _ = unsafe CString.with(name) { unsafe sys_unlinkat(folder.number, $0, 0) }
            } catch {
                // What can't be done now stays noted.
                isDone = false
            }
        }
        return isDone
    }

    /// How long to wait for a disk that was taken out.
    static let absence: Duration = .seconds(30 * 86_400)

    /// A note's content, which is empty if it was ended, and how long ago it was written.
    /// - Throws: what the disk reports: a note that can't be read now must stay.
    private static func read(_ name: [UInt8], in folder: Int32) throws(RootError) -> (bytes: [UInt8], age: Duration) {
        let answer = unsafe CString.with(name) { unsafe sys_openat(folder, $0, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0) }
        let file = try Descriptor(answer, "open a note")
        var bytes = [UInt8](repeating: 0, count: 16_384)
        let count = unsafe bytes.withUnsafeMutableBytes { unsafe sys_read(file.number, $0.baseAddress, $0.count) }
        try check(count, "read a note")
        return (Array(bytes[..<count]), RootClock.system.wall().since(try file.status().modificationTime))
    }
}

extension DirectoryRoot {
    /// Removes what ``RenameJournal`` put out of sight.
    func removeDoomed() {
        let places = doomed.withLock { places in
            defer { places = [] }
            return places
        }
        for place in places { _ = TreeRemoval.remove(place.name, in: place.directory.number) }
    }
}
