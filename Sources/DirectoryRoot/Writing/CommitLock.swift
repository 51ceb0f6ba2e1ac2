import CSyscalls
import Synchronization

/// Held while a write looks at its precondition and the locks and then changes a name, so that no other write comes
/// between: not of another thread, and not of another process on the same root.
final class CommitLock: Sendable {
    static let name = "commit"
    let state: StateFolder
    let inProcess = Mutex(Kept())
    private let finishing = Mutex<(@Sendable () -> Bool)?>(nil)
    /// What the holder has yet to wait for; empty where nobody holds the lock.
    private let owed = Mutex<[NameSync]>([])

    /// What the last holder in this process left for the next.
    struct Kept {
        var file: IdentifiedDescriptor?
        var glance = StateGlance()
    }

    init(state: StateFolder) {
        self.state = state
    }

    /// Runs `body` as the only one.
    /// - Parameters:
    ///   - patience: how long to wait for another process.
    ///   - body: what is done.
    /// - Returns: what `body` gives.
    /// - Throws: what `body` throws; ``RootError/busy`` when another process keeps the lock for too long.
    func withLock<Answer>(
        patience: Duration = StateFolder.patience, _ body: () throws(RootError) -> Answer
    ) throws(RootError) -> Answer {
        try withLock(creating: true, patience: patience) { (_) throws(RootError) in try body() }
    }

    /// As ``withLock(patience:_:)``, for what may do without keeping out other processes: a new name, which is never
    /// made where there is one.
    /// - Parameters:
    ///   - creating: makes the state folder that other processes are kept out with, where that can be.
    ///   - patience: how long to wait for another process.
    ///   - body: told whether they are kept out.
    /// - Returns: what `body` gives.
    /// - Throws: what `body` throws; ``RootError/busy`` when another process keeps the lock for too long.
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
                lock = try StateLock(named: Self.name, folder: folder, kept: &kept.file, patience: patience)
            } catch .noSpace {
                // A disk without room for one more file must still let files be removed.
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

    /// Waits until the disk has the names in a directory; under the lock.
    ///
    /// Where that takes as long as to write all that the file system has, it is put off until the lock is given back,
    /// with what is to be waited for behind it: ``withLock(patience:_:)`` returns, or throws what the disk says, only
    /// then.
    /// - Parameters:
    ///   - directory: open for `*at` calls at least.
    ///   - file: that just got one of the names, open; nil for none.
    /// - Throws: what the disk says.
    func waitForNames(at directory: Int32, having file: Int32?) throws(RootError) {
        guard let names = try NameSync(of: directory, below: state.root, having: file) else { return }
        let isLater = owed.withLock { owed in
            guard names.isOfAll || !owed.isEmpty else { return false }
            owed.append(names)
            return true
        }
        if !isLater { try names.wait() }
    }

    /// Sets what is done, under the lock, before anything else when a holder was killed that had marked the lock.
    /// - Parameter finish: says whether nothing of it is left to do.
    func whenMarked(_ finish: @escaping @Sendable () -> Bool) {
        finishing.withLock { $0 = finish }
    }

    /// Marks the lock: by the length of its file, which whoever takes it next looks at anyway.
    ///
    /// Under the lock. Where there is no room for it, all is as without a mark.
    /// - Returns: whether it has a mark now and had none before.
    func mark() -> Bool {
        guard let folder = try? state.descriptor(creating: false),
            let file = try? open(in: folder, O_WRONLY), let status = try? file.status(), status.size == 0
        else { return false }
        let byte: [UInt8] = [1]
        guard unsafe byte.withUnsafeBytes({ unsafe sys_write(file.number, $0.baseAddress, $0.count) }) == 1 else {
            return false
        }
        // Who goes by an earlier look at the folder looks again, and so finds the mark.
        // Where the folder lets us open what is in it and no more, who does not look again may write before what is
        // noted is made good, which leaves alone what is not as noted any more.
        _ = sys_touch(folder.number)
        return true
    }

    /// Takes the mark away, under the lock.
    ///
    /// Where that fails, the next to take the lock finds nothing left to do.
    func unmark() {
        guard let folder = try? state.descriptor(creating: false) else { return }
        _ = try? open(in: folder, O_WRONLY | O_TRUNC)
    }

    private func open(in folder: IdentifiedDescriptor, _ flags: Int32) throws(RootError) -> Descriptor {
        try unsafe Descriptor(sys_openat(folder.number, Self.name, flags | O_NOFOLLOW, 0), "openat")
    }

    private func folder(creating: Bool) throws(RootError) -> IdentifiedDescriptor? {
        // Where none can be made, the exclusion of this process's own threads is all there is.
        if creating, let made = try? state.descriptor(creating: true) { return made }
        return try state.descriptor(creating: false)
    }
}
