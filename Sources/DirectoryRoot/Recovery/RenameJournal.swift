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
        if type(of: note).hides, sys_fsync(file.number) == 0 {
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

    /// Whether the scratch folder contains any note about what is out of sight in another folder.
    /// - Throws: what the disk reports.
    static func hasHidingNotes(in folder: SharedDescriptor) throws(RootError) -> Bool {
        try unsafe DirectoryReader.lists(in: folder.number) { name in unsafe kind(of: Array(name))?.hides ?? false }
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
            let isOld = age(of: name, in: folder.number) > absence
            do throws(RootError) {
                let bytes = try content(of: name, kind, in: folder.number)
                let isFound = try kind.init(bytes[...])?.finish(in: root) ?? true
                // What can't be found is looked for again from time to time; no write has to wait for that.
                if !isFound, !isOld { continue }
            } catch {
                // What can't be done now stays noted, but not for ever.
                guard isOld else {
                    isDone = false
                    continue
                }
            }
            _ = unsafe CString.with(name) { unsafe sys_unlinkat(folder.number, $0, 0) }
        }
        return isDone
    }

    /// How long to wait for a disk that was taken out.
    static let absence: Duration = .seconds(30 * 86_400)

    private static func age(of name: [UInt8], in folder: Int32) -> Duration {
        var status = sys_attributes()
        guard unsafe CString.with(name, { unsafe sys_statat(folder, $0, &status) }) == 0 else { return .zero }
        return RootClock.system.wall().since(status.modificationTime)
    }

    /// A note's content; empty if it was ended.
    /// - Throws: what the disk reports, for a note without which something stays out of sight: another one is of no use
    ///   later, when people may want what is there by then.
    private static func content(
        of name: [UInt8], _ kind: any RenameNote.Type, in folder: Int32
    ) throws(RootError) -> [UInt8] {
        let answer = unsafe CString.with(name) { unsafe sys_openat(folder, $0, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0) }
        if answer < 0, !kind.hides { return [] }
        let file = try Descriptor(answer, "open a note")
        var bytes = [UInt8](repeating: 0, count: 16_384)
        let count = unsafe bytes.withUnsafeMutableBytes { unsafe sys_read(file.number, $0.baseAddress, $0.count) }
        if count < 0, !kind.hides { return [] }
        try check(count, "read a note")
        return Array(bytes[..<count])
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
