import CSyscalls
import Synchronization

/// Holds unfinished and doomed files while they have no visible name.
///
/// This is `.shareserve/tmp` in the root; for other file systems mounted below the root, and for what would get other
/// rights there, it is a reserved name in the directory itself. Neither is visible to any requester.
final class ScratchFolder: Sendable {
    private static let name = "tmp"
    private let root: Int32
    private let open = Mutex<SharedDescriptor?>(nil)

    init(root: Int32) {
        self.root = root
    }

    /// A fresh name on the file system of `directory`.
    ///
    /// - Parameters:
    ///   - directory: where the thing will be moved to later, or is moved away from.
    ///   - besides: true to stay in `directory` itself, after a rename into the scratch folder was refused.
    ///   - isNew: whether the thing will be created there, and is to have the rights that `directory` gives.
    /// - Returns: the place; nothing is there yet.
    /// - Throws: what opening the directory met.
    func place(
        near directory: borrowing Descriptor, besides: Bool = false, isNew: Bool = false
    ) throws(RootError) -> ScratchPlace {
        if !besides, try !isOtherSystem(directory.number), let folder = try? folder(),
            // The state folder may have got some from the root.
            !isNew || !FileMetadata.givesRights(directory.number) && !FileMetadata.givesRights(folder.number)
        {
            return ScratchPlace(directory: folder, name: Array(ReservedName.fresh().utf8))
        }
        let copy = try Descriptor(sys_dup(directory.number), "dup")
        return ScratchPlace(directory: SharedDescriptor(copy), name: Array(ReservedName.fresh().utf8))
    }

    private func isOtherSystem(_ directory: Int32) throws(RootError) -> Bool {
        let (status, own) = (try sys_attributes(of: directory), try sys_attributes(of: root))
        return status.device != own.device || status.mount != own.mount
    }

    /// Whether a directory is on another file system than the root; false when unknown.
    func isElsewhere(_ directory: Int32) -> Bool { (try? isOtherSystem(directory)) ?? false }

    /// Whether a place is in the scratch folder, and not in the directory of what is moved.
    func holds(_ place: ScratchPlace) -> Bool { open.withLock { $0 } === place.directory }

    /// A fresh name in the folder that was found last, without checking it; if it has been removed or is on the wrong
    /// file system, creating something there fails.
    /// - Returns: nil when the folder was never looked for.
    func likelyPlace() -> ScratchPlace? {
        open.withLock { $0 }.map { ScratchPlace(directory: $0, name: Array(ReservedName.fresh().utf8)) }
    }

    /// The folder, created on first need.
    func folder() throws(RootError) -> SharedDescriptor {
        try open.withLock { (known) throws(RootError) -> SharedDescriptor in
            var status = sys_attributes()
            var now = sys_attributes()
            // Somebody may have removed the folder meanwhile, or mounted another file system over the root.
            if let known, unsafe sys_fstat(known.number, &status) == 0, status.links > 0,
                unsafe sys_statat(root, ReservedName.folder + "/" + Self.name, &now) == 0, now.isSame(as: status)
            {
                return known
            }
            let flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW
            let made = unsafe sys_mkdirat(root, ReservedName.folder, 0o700)
            if made != -EEXIST { try check(made, "mkdirat") }
            let state = try unsafe Descriptor(sys_openat(root, ReservedName.folder, flags, 0), "openat")
            let nested = unsafe sys_mkdirat(state.number, Self.name, 0o700)
            if nested != -EEXIST { try check(nested, "mkdirat") }
            let folder = unsafe SharedDescriptor(
                try Descriptor(sys_openat(state.number, Self.name, flags, 0), "openat"))
            known = folder
            return folder
        }
    }

    /// The folder, if it exists.
    func existingFolder() -> SharedDescriptor? { (try? folderIfThere()) ?? nil }

    /// The same.
    /// - Throws: what keeps it from being found.
    private func folderIfThere() throws(RootError) -> SharedDescriptor? {
        let flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW
        do throws(RootError) {
            let state = try unsafe Descriptor(sys_openat(root, ReservedName.folder, flags, 0), "openat")
            return SharedDescriptor(try unsafe Descriptor(sys_openat(state.number, Self.name, flags, 0), "openat"))
        } catch .notFound {
            return nil
        }
    }

    /// Whether there may be a note about what is hidden under `name`, wherever that is.
    func mayHaveNote(of name: [UInt8]) -> Bool {
        do throws(RootError) {
            guard let folder = try folderIfThere() else { return false }
            if RemovalNote.exists(of: name, in: folder) { return true }
            // An aside note does not have what it is about in its name.
            return try RenameJournal.hasHidingNotes(in: folder)
        } catch {
            return true
        }
    }

    /// Removes what crashes left behind: what is older than a day and nobody works on, except notes of work still to be
    /// done.
    ///
    /// Called at the start, and from time to time.
    /// - Parameter now: the time of day, compared with times that the kernel sets.
    func removeLeftovers(at now: Timestamp) {
        guard let folder = existingFolder() else { return }
        var reader = DirectoryReader(descriptor: folder.number)
        // What can't be read now stays until the next time.
        while let record = try? unsafe reader.next() {
            let name = unsafe Array(record.bytes)
            guard !RemovalNote.isNote(name), !RenameJournal.isNote(name), !RemovalNote.exists(of: name, in: folder),
                unsafe Self.isLeftover(folder.number, record, at: now)
            else { continue }
            _ = TreeRemoval.remove(name, in: folder.number)
        }
    }

    /// Whether nobody works any more on what has this reserved name in `directory`.
    ///
    /// Decided by the time in its name and by its last change: neither alone is reliable on every file system and after
    /// every change of the clock. A process that works on something for days holds a lock on it; see ``markInUse(_:)``.
    static func isLeftover(_ directory: Int32, _ record: sys_name, at now: Timestamp) -> Bool {
        var status = sys_attributes()
        let made = unsafe ReservedName.creationSeconds(of: record.bytes) ?? 0
        guard unsafe sys_statat(directory, record.name, &status) == 0,
            now.since(Timestamp(seconds: max(made, status.changed))) > .seconds(86_400)
        else { return false }
        let flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK
        let answer = unsafe sys_openat(directory, record.name, flags, 0)
        // What only root may open is a leftover all the same; when descriptors run out, it is examined another time.
        guard answer >= 0 else { return answer == -EACCES || answer == -ELOOP }
        let thing = Descriptor(owning: answer)
        return sys_is_locked(thing.number) != 1
    }

    /// Keeps something unfinished from being taken for a leftover for as long as this descriptor is open.
    ///
    /// Where a file system has no locks, it is safe for a day only.
    /// - Parameter descriptor: of a file or directory out of sight, open for reading.
    static func markInUse(_ descriptor: Int32) { _ = sys_lock(descriptor, sys_lock_shared, 0) }
}

/// A name in an open directory where something stands for a while.
struct ScratchPlace: Sendable {
    let directory: SharedDescriptor
    let name: [UInt8]

    /// The name for the C library.
    func withName<Answer>(_ body: (UnsafePointer<CChar>) -> Answer) -> Answer { unsafe CString.with(name, body) }

    /// Opens what stands there, or creates it; returns a descriptor or a negative `errno`.
    func open(_ flags: Int32, permissions: UInt32 = 0) -> Int32 {
        unsafe withName { unsafe sys_openat(directory.number, $0, flags, permissions) }
    }

    /// Gets the status of what stands there, of a link itself; returns 0 or a negative `errno`.
    func look(_ status: inout sys_attributes) -> Int32 {
        unsafe withName { unsafe sys_statat(directory.number, $0, &status) }
    }

    /// Removes the name; returns 0 or a negative `errno`.
    @discardableResult
    func unlink() -> Int32 { unsafe withName { unsafe sys_unlinkat(directory.number, $0, 0) } }
}
