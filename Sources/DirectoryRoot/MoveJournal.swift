import CSyscalls
import Synchronization

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// A note in the scratch folder for the moment in which a move over a folder has swapped the two names, and what was
/// replaced stands under the source's name.
///
/// A process that is killed then leaves the note, and a mark on the commit lock; whoever takes that next, in this
/// process or another, finishes the move before anything else is written. Written, ended and found under that lock, so
/// that a note that is found belongs to nobody who lives. But others may have gone on since: it holds only as long as
/// both names are as the swap left them.
struct MoveJournal {
    private static let suffix = Array(".move".utf8)
    /// What a note begins with when the trash shall have what was replaced.
    private static let kept = Array("trash ".utf8)
    private let place: ScratchPlace
    private let lock: CommitLock

    /// Notes that what is replaced may stand under the source's name for a moment; nil where there is no scratch folder.
    ///
    /// It goes to the trash as `item`, or else for good.
    init?(from: borrowing Location, to: borrowing Location, in root: DirectoryRoot, item: String? = nil) {
        guard let moved = from.status, let replaced = to.status, let folder = try? root.scratch.folder() else {
            return nil
        }
        lock = root.commitLock
        place = ScratchPlace(directory: folder, name: Array(ReservedName.fresh().utf8) + Self.suffix)
        let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW
        let answer = unsafe place.withName { unsafe sys_openat(folder.number, $0, flags, 0o600) }
        guard answer >= 0 else { return nil }
        let file = Descriptor(owning: answer)
        let start = item.map { Self.kept + Array("\($0) ".utf8) } ?? []
        let things = "\(replaced.device) \(replaced.inode) \(moved.device) \(moved.inode) "
        // No path holds a zero.
        let note = start + Array(things.utf8) + from.path.bytes + [0] + to.path.bytes
        // A note that is not whole names nothing, and the move is as safe as without one.
        _ = unsafe note.withUnsafeBytes { unsafe sys_write(file.number, $0.baseAddress, $0.count) }
        lock.mark(true)
    }

    /// Both steps are done, or neither was.
    func end() {
        _ = unsafe place.withName { unsafe sys_unlinkat(place.directory.number, $0, 0) }
        lock.mark(false)
    }

    /// Finishes what was interrupted: at the start, and from time to time.
    static func finishAll(in root: DirectoryRoot) throws(RootError) {
        guard root.scratch.existingFolder() != nil else { return }
        try root.commitLock.withLock { () throws(RootError) in _ = try finishNoted(in: root) }
        root.removeDoomed()
    }

    /// The same under the commit lock.
    ///
    /// What was replaced is put out of sight; removing it may take its time, and is for later.
    /// - Returns: whether no note is left.
    /// - Throws: what the disk says.
    static func finishNoted(in root: DirectoryRoot) throws(RootError) -> Bool {
        guard let folder = root.scratch.existingFolder() else { return true }
        var isDone = true
        var reader = DirectoryReader(descriptor: folder.number)
        while let record = try unsafe reader.next() {
            let name = unsafe Array(record.bytes)
            guard name.suffix(suffix.count) == suffix[...] else { continue }
            do throws(RootError) {
                if let note = read(name, in: folder.number) { try finish(note, in: root) }
                _ = unsafe CString.with(name) { unsafe sys_unlinkat(folder.number, $0, 0) }
            } catch {
                // What can't be done now stays noted.
                isDone = false
            }
        }
        return isDone
    }

    private struct Note {
        /// In the trash; nil for what is not to be kept.
        var item: String?
        /// What was replaced, and where it stands after the swap.
        var replaced: Thing
        /// What was moved, and where it stands after the swap.
        var moved: Thing
    }

    private struct Thing {
        var device: UInt64
        var inode: UInt64
        var path: SharePath

        init?(_ device: ArraySlice<UInt8>, _ inode: ArraySlice<UInt8>, at path: ArraySlice<UInt8>) {
            guard let device = UInt64(String(decoding: device, as: UTF8.self)),
                let inode = UInt64(String(decoding: inode, as: UTF8.self)), let path = try? SharePath(bytes: path)
            else { return nil }
            self.device = device
            self.inode = inode
            self.path = path
        }

        /// Whether this is what stands at a place.
        func stands(at location: borrowing Location) -> Bool {
            location.status.map { $0.device == device && $0.inode == inode } ?? false
        }
    }

    private static func read(_ name: [UInt8], in folder: Int32) -> Note? {
        let answer = unsafe CString.with(name) { unsafe sys_openat(folder, $0, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0) }
        guard answer >= 0 else { return nil }
        let file = Descriptor(owning: answer)
        var bytes = [UInt8](repeating: 0, count: 16_384)
        let count = unsafe bytes.withUnsafeMutableBytes { unsafe sys_read(file.number, $0.baseAddress, $0.count) }
        guard count > 0 else { return nil }
        var rest = bytes[..<count]
        var item: String?
        if rest.starts(with: kept) {
            let id = rest.dropFirst(kept.count).prefix { $0 != UInt8(ascii: " ") }
            guard !id.contains(UInt8(ascii: "/")) else { return nil }
            item = String(decoding: id, as: UTF8.self)
            rest = rest[id.endIndex...].dropFirst()
        }
        let parts = rest.split(separator: UInt8(ascii: " "), maxSplits: 4)
        guard parts.count == 5 else { return nil }
        let paths = parts[4].split(separator: 0)
        guard paths.count == 2, let replaced = Thing(parts[0], parts[1], at: paths[0]),
            let moved = Thing(parts[2], parts[3], at: paths[1])
        else { return nil }
        return Note(item: item, replaced: replaced, moved: moved)
    }

    /// Takes what was replaced away from the source's name, when it stands there.
    /// - Throws: why that can't be done now.
    private static func finish(_ note: Note, in root: DirectoryRoot) throws(RootError) {
        guard let target = try location(of: note.moved.path, in: root), note.moved.stands(at: target),
            let location = try location(of: note.replaced.path, in: root), note.replaced.stands(at: location)
        else { return }
        let place = try location.place()
        if let item = note.item {
            // What can't be kept there stays where it is, where people find it.
            if let kept = try? root.state.trash.place(of: item) { _ = root.rename(place, to: kept) }
            return
        }
        guard let hidden = try root.hide(place) else { throw .forbidden }
        root.doomed.withLock { $0.append(hidden) }
    }

    /// Nil where the folders on the way have gone.
    private static func location(of path: SharePath, in root: DirectoryRoot) throws(RootError) -> Location? {
        do throws(RootError) {
            return try root.locate(path, followsLink: false)
        } catch {
            switch error {
            case .notFound, .parentMissing, .notDirectory, .forbidden: return nil
            default: throw error
            }
        }
    }
}

extension DirectoryRoot {
    /// Removes what ``MoveJournal`` put out of sight.
    func removeDoomed() {
        let places = doomed.withLock { places in
            defer { places = [] }
            return places
        }
        for place in places { _ = TreeRemoval.remove(place.name, in: place.directory.number) }
    }
}
