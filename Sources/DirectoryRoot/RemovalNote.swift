import CSyscalls

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// A note in the scratch folder about a tree that was hidden to be taken apart: where it stood.
///
/// Who takes the tree apart holds a lock on the note. One that nobody holds is of a process that was killed, and the
/// next to look goes on: what can't be removed gets its name back, and is never left out of sight.
///
/// Made, found and locked under the commit lock.
final class RemovalNote: Sendable {
    private static let suffix = Array(".removal".utf8)
    private static let longest = 8_192
    private let place: ScratchPlace
    private let file: Descriptor

    /// Notes that what is hidden as `name` stood at `path`; nil where no note can be kept.
    init?(_ name: [UInt8], at path: SharePath, in root: DirectoryRoot) {
        guard let folder = try? root.scratch.folder() else { return nil }
        place = ScratchPlace(directory: folder, name: name + Self.suffix)
        let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW
        let answer = unsafe place.withName { unsafe sys_openat(folder.number, $0, flags, 0o600) }
        guard answer >= 0 else { return nil }
        file = Descriptor(owning: answer)
        guard sys_lock(answer, sys_lock_exclusive, 0) == 0,
            unsafe path.bytes.withUnsafeBytes({ unsafe sys_write(answer, $0.baseAddress, $0.count) })
                == path.bytes.count,
            !root.policy.waitsForDisk
                || sys_fsync(answer) == 0 && (try? WriteBack.waitForNames(in: folder.number)) != nil
        else {
            end()
            return nil
        }
    }

    /// Takes over a note that nobody holds; nil when somebody does, or where there are no locks.
    private init?(found name: [UInt8], in folder: SharedDescriptor) {
        place = ScratchPlace(directory: folder, name: name)
        let answer = unsafe place.withName { unsafe sys_openat(folder.number, $0, O_RDWR | O_NOFOLLOW | O_NONBLOCK, 0) }
        guard answer >= 0 else { return nil }
        file = Descriptor(owning: answer)
        guard sys_lock(answer, sys_lock_exclusive, 0) == 0 else { return nil }
    }

    /// Whether a name in the scratch folder is a note's.
    static func isNote(_ name: [UInt8]) -> Bool { name.suffix(suffix.count) == suffix[...] }

    /// The tree is gone, or shown again.
    func end() { _ = unsafe place.withName { unsafe sys_unlinkat(place.directory.number, $0, 0) } }

    /// Goes on with what killed processes left.
    static func finishAll(in root: DirectoryRoot) {
        for note in (try? abandoned(in: root)) ?? [] { note.finish(in: root) }
    }

    private static func abandoned(in root: DirectoryRoot) throws(RootError) -> [RemovalNote] {
        guard let folder = root.scratch.existingFolder() else { return [] }
        return try root.commitLock.withLock { () throws(RootError) -> [RemovalNote] in
            var found: [RemovalNote] = []
            var reader = DirectoryReader(descriptor: folder.number)
            while found.count < 256, let record = try unsafe reader.next() {
                let name = unsafe Array(record.bytes)
                if isNote(name), let note = RemovalNote(found: name, in: folder) { found.append(note) }
            }
            return found
        }
    }

    private func finish(in root: DirectoryRoot) {
        guard let path = read(), let tree = hidden(below: path, in: root) else { return end() }
        // What can't be shown now stays noted, for a later look.
        guard (try? root.takeApart(tree, from: path)) != nil else { return }
        end()
    }

    private func read() -> SharePath? {
        var bytes = [UInt8](repeating: 0, count: Self.longest)
        let count = unsafe bytes.withUnsafeMutableBytes { unsafe sys_pread(file.number, $0.baseAddress, $0.count, 0) }
        guard count > 0, let path = try? SharePath(bytes: bytes[..<count]), !path.isRoot else { return nil }
        return path
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
