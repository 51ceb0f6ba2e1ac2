import CSyscalls
import Synchronization

/// Held while a write checks its precondition and the locks and then changes a name, so that no other write interferes:
/// neither one of another thread, nor one of another process on the same root.
final class CommitLock: Sendable {
    static let name = "commit"
    let state: StateFolder
    let inProcess = Mutex(Kept())
    private let finishing = Mutex<(@Sendable () -> Bool)?>(nil)
    /// What the holder still has to sync; empty when nobody holds the lock.
    private let owed = Mutex<[NameSync]>([])

    /// What the last holder in this process left for the next.
    struct Kept {
        var waits = StateLock.Waits()
        var glance = StateGlance()
    }

    init(state: StateFolder) {
        self.state = state
    }

    /// Runs `body` under the lock.
    /// - Parameters:
    ///   - patience: how long to wait for another process.
    ///   - body: the work.
    /// - Returns: the result of `body`.
    /// - Throws: what `body` throws; ``RootError/busy`` when another process holds the lock for too long.
    func withLock<Answer>(
        patience: Duration = StateFolder.patience, _ body: () throws(RootError) -> Answer
    ) throws(RootError) -> Answer {
        try withLock(creating: true, patience: patience) { (_) throws(RootError) in try body() }
    }

    /// As ``withLock(patience:_:)``, for work that does not depend on excluding other processes: creating a name, which
    /// never replaces an existing one.
    /// - Parameters:
    ///   - creating: creates the state folder, with which other processes are excluded, if possible.
    ///   - patience: how long to wait for another process.
    ///   - body: gets whether other processes are excluded.
    /// - Returns: the result of `body`.
    /// - Throws: what `body` throws; ``RootError/busy`` when another process holds the lock for too long.
    func withLock<Answer>(
        creating: Bool, patience: Duration = StateFolder.patience, _ body: (Bool) throws(RootError) -> Answer
    ) throws(RootError) -> Answer {
        var left: [NameSync] = []
        let answer = try inProcess.withLock { (kept) throws(RootError) -> Answer in
            defer { left = takeOwed() }
            // A read-only share changes no name.
            guard !state.isReadOnly, let folder = try folder(creating: creating) else { return try body(false) }
            let lock: StateLock
            do throws(RootError) {
                lock = try StateLock(named: Self.name, folder: folder, waits: &kept.waits, patience: patience)
            } catch .noSpace {
                // On a disk without space for one more file, removing files must still be possible.
                return try body(false)
            }
            defer { lock.release() }
            if lock.isMarked, let finish = finishing.withLock({ $0 }), finish() { unmark() }
            return try body(true)
        }
        for names in left { try names.wait() }
        return answer
    }

    private func takeOwed() -> [NameSync] {
        owed.withLock { owed in
            defer { owed = [] }
            return owed
        }
    }

    /// Waits until the names in a directory are on the disk; called under the lock.
    ///
    /// If that means to sync the whole file system, it is postponed until the lock is released, and so is every later
    /// wait: ``withLock(patience:_:)`` returns, or throws what the disk reports, only after that.
    /// - Parameters:
    ///   - directory: open at least for `*at` calls.
    ///   - file: open file that just got one of the names; nil for none.
    /// - Throws: what the disk reports.
    func waitForNames(at directory: Int32, having file: Int32?) throws(RootError) {
        guard let names = try NameSync(of: directory, below: state.root, having: file) else { return }
        let isLater = owed.withLock { owed in
            guard names.isOfAll || !owed.isEmpty else { return false }
            owed.append(names)
            return true
        }
        if !isLater { try names.wait() }
    }

    /// Sets what to do first, under the lock, when a holder that had marked the lock was killed.
    /// - Parameter finish: returns whether everything was finished.
    func whenMarked(_ finish: @escaping @Sendable () -> Bool) {
        finishing.withLock { $0 = finish }
    }

    /// Marks the lock: by the length of its file, which whoever takes it next examines anyway.
    ///
    /// Called under the lock. If there is no disk space for the mark, everything works as without one.
    /// - Returns: whether it has a mark now and had none before.
    func mark() -> Bool {
        guard let folder = try? state.descriptor(creating: false),
            let file = try? open(in: folder, O_WRONLY), let status = try? file.status(), status.size == 0
        else { return false }
        let byte: [UInt8] = [1]
        guard unsafe byte.withUnsafeBytes({ unsafe sys_write(file.number, $0.baseAddress, $0.count) }) == 1 else {
            return false
        }
        // Whoever relies on an earlier look at the folder looks again after this, and so finds the mark. If this
        // process may not change the folder's times, one that does not look again may write before what is noted was
        // finished; finishing leaves alone what no longer matches the note.
        _ = sys_touch(folder.number)
        return true
    }

    /// Removes the mark; called under the lock.
    ///
    /// If that fails, the next to take the lock finds nothing left to do.
    func unmark() {
        guard let folder = try? state.descriptor(creating: false) else { return }
        _ = try? open(in: folder, O_WRONLY | O_TRUNC)
    }

    private func open(in folder: IdentifiedDescriptor, _ flags: Int32) throws(RootError) -> Descriptor {
        try unsafe Descriptor(sys_openat(folder.number, Self.name, flags | O_NOFOLLOW, 0), "openat")
    }

    private func folder(creating: Bool) throws(RootError) -> IdentifiedDescriptor? {
        // If the folder can't be created, only this process's own threads exclude each other.
        if creating, let made = try? state.descriptor(creating: true) { return made }
        return try state.descriptor(creating: false)
    }
}
