import CSyscalls
import Synchronization

/// `.shareserve/` in the root: holds all state, as small files that are replaced and never rewritten.
///
/// Created on first need, never on a read-only share, and accessed through descriptors only: a symbolic link or a file
/// in its place is refused, so nobody who can write to the root can redirect our writes.
package final class StateFolder: Sendable {
    /// Its name, which no requester can see.
    package static let name = ReservedName.folder

    /// The root's descriptor; the root outlives this object.
    let root: Int32
    let isReadOnly: Bool
    /// Whether a change counts as made only once it is on the disk.
    let waitsForDisk: Bool
    /// The owner of what is created here; nil for the process's own user.
    private let owner: FileOwner?
    package let incidents = StateIncidents()

    private let folder = Mutex<IdentifiedDescriptor?>(nil)
    private let subfolders = Mutex<[String: IdentifiedDescriptor]>([:])
    private let inProcess = Mutex(StateLock.Waits())
    /// Whether the disk had no space for a note, and no spare file was left: what is deleted now can't be restored.
    let hasNoRoom = Atomic<Bool>(false)
    /// When the disk was last seen to have much free space, in milliseconds.
    let hadMuchRoom = Atomic<Int64>(.min / 2)

    /// Whether the folder may exist but be inaccessible, most likely because it is another user's: then the locks in it
    /// are unknown.
    private let mayBeClosed = Atomic<Bool>(true)

    /// How long to wait for another process that holds the lock.
    static let patience: Duration = .seconds(10)

    init(root: Int32, isReadOnly: Bool, waitsForDisk: Bool, owner: FileOwner? = nil) {
        self.root = root
        self.owner = owner
        self.isReadOnly = isReadOnly
        self.waitsForDisk = waitsForDisk
    }

    /// The open folder; nil when there is none and `creating` is false, or when what is there can't be trusted.
    /// - Throws: ``RootError/readOnly`` when it would have to be created on a read-only share;
    ///   ``RootError/forbidden`` when `creating` and the system does not allow it, or does not let this process use what
    ///   is there; ``RootError/system(errno:call:)`` when `creating` and something else has its name.
    func descriptor(creating: Bool) throws(RootError) -> IdentifiedDescriptor? {
        if creating && isReadOnly { throw .readOnly }
        return try folder.withLock { (folder) throws(RootError) -> IdentifiedDescriptor? in
            var found = sys_attributes()
            let status = unsafe sys_statat(root, Self.name, &found)
            if status == 0, let folder, folder.isSame(as: found) { return folder }
            folder = nil
            subfolders.withLock { $0.removeAll() }
            if status < 0 && status != -ENOENT { throw RootError(ofState: status, "statat .shareserve", "") }
            if status == -ENOENT {
                mayBeClosed.store(false, ordering: .relaxed)
                guard creating else { return nil }
                let made = unsafe sys_mkdirat(root, Self.name, 0o700)
                // Nothing can be created in a directory that was removed.
                if made == -ENOENT { throw .rootGone }
                // Not about the state, but about what this process may do in the shared directory.
                if made == -EACCES || made == -EPERM { throw .forbidden }
                if made != -EEXIST { try checkState(made, "mkdirat .shareserve", "") }
            }
            let opened = unsafe sys_openat(root, Self.name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0)
            mayBeClosed.store(opened == -EACCES, ordering: .relaxed)
            guard opened >= 0 else {
                if opened == -ENOENT && !creating { return nil }
                incidents.report(.unusableFolder(errno: -opened))
                guard creating else { return nil }
                // The state of an earlier start as another user, of which the log told at the start.
                if opened == -EACCES || opened == -EPERM { throw .forbidden }
                throw .system(errno: -opened, call: "open .shareserve: it must be a directory")
            }
            let descriptor = try IdentifiedDescriptor(adopting: opened, "fstat state")
            try settle(root)
            folder = descriptor
            return descriptor
        }
    }

    /// Refuses any change while the locks can't be read.
    /// - Throws: ``RootError/forbidden``.
    func requireOpen() throws(RootError) {
        guard mayBeClosed.load(ordering: .relaxed) else { return }
        _ = try descriptor(creating: false)
        guard !mayBeClosed.load(ordering: .relaxed) else { throw .forbidden }
    }

    /// A folder inside; nil when there is none and `creating` is false.
    func subfolder(_ name: String, creating: Bool) throws(RootError) -> IdentifiedDescriptor? {
        guard let folder = try descriptor(creating: creating) else { return nil }
        var found = sys_attributes()
        let status = unsafe sys_statat(folder.number, name, &found)
        if status == 0, let known = subfolders.withLock({ $0[name] }), known.isSame(as: found) { return known }
        if status == -ENOENT {
            guard creating else { return nil }
            let made = unsafe sys_mkdirat(folder.number, name, 0o700)
            if made != -EEXIST { try checkState(made, "mkdirat state", name) }
        } else if status < 0 {
            throw RootError(ofState: status, "statat state", name)
        }
        let opened = unsafe sys_openat(folder.number, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0)
        if opened == -ENOENT && !creating { return nil }
        if opened < 0 {
            incidents.report(.unusableFolder(errno: -opened))
            throw RootError(ofState: opened, "open a folder in .shareserve", name)
        }
        let descriptor = try IdentifiedDescriptor(adopting: opened, "fstat state")
        try settle(folder.number)
        subfolders.withLock { $0[name] = descriptor }
        return descriptor
    }

    /// Makes the name of a folder that may be new durable, whoever created it: otherwise its contents would be lost
    /// too.
    private func settle(_ parent: Int32) throws(RootError) {
        if waitsForDisk, !isReadOnly { try WriteBack.waitForNames(in: parent) }
    }

    /// The names in one of our folders, without `.` and `..`.
    static func names(in folder: IdentifiedDescriptor) throws(RootError) -> [String] {
        // Opened anew to have its own read position, whoever else reads the folder.
        let opened = unsafe sys_openat(folder.number, ".", O_RDONLY | O_DIRECTORY, 0)
        let reading = Descriptor(owning: try checkState(opened, "open a folder in .shareserve", ""))
        var reader = DirectoryReader(descriptor: reading.number)
        var names: [String] = []
        while let record = try unsafe reader.next() {
            unsafe names.append(String(decoding: record.bytes, as: UTF8.self))
        }
        return names
    }

    /// Removes a temporary file that was not touched for a day: a process was killed while it wrote it.
    /// - Parameters:
    ///   - name: in `folder`; any file that is not temporary is left alone.
    ///   - folder: the state folder, or one inside it.
    ///   - now: the time of day, compared with times that the kernel sets.
    static func removeStray(_ name: String, in folder: IdentifiedDescriptor, at now: Timestamp) {
        var status = sys_attributes()
        guard name.contains(".new-"), unsafe sys_statat(folder.number, name, &status) == 0,
            now.since(Timestamp(seconds: status.changed)) > .seconds(86_400)
        else { return }
        // What can't be removed is tried again the next time.
        _ = unsafe sys_unlinkat(folder.number, name, 0)
    }

    /// Runs `body` while no other thread, process or host changes state.
    /// - Throws: ``RootError/busy`` when another process holds the lock for too long.
    func exclusively<T>(_ body: (StateLock) throws(RootError) -> T) throws(RootError) -> T {
        guard let owner else { return try locked(body) }
        return try owner.acting { () throws(RootError) -> T in try locked(body) }
    }

    private func locked<T>(_ body: (StateLock) throws(RootError) -> T) throws(RootError) -> T {
        try inProcess.withLock { (waits) throws(RootError) -> T in
            guard let folder = try descriptor(creating: true) else { throw .readOnly }
            let lock = try StateLock(named: "lock", folder: folder, waits: &waits)
            defer { lock.release() }
            return try body(lock)
        }
    }
}
