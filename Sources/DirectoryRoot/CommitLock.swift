import Synchronization

/// Held while a write looks at its precondition and the locks and then changes a name, so that no other write comes
/// between: not of another thread, and not of another process on the same root.
final class CommitLock: Sendable {
    let state: StateFolder
    let inProcess = Mutex(Kept())

    /// What the last holder in this process left for the next.
    struct Kept {
        var file: OpenDescriptor?
        var glance = StateGlance()
    }

    init(state: StateFolder) {
        self.state = state
    }

    /// Runs `body` as the only one.
    /// - Throws: what `body` throws; ``RootError/tooMany`` when another process keeps the lock for too long.
    func withLock<Answer>(_ body: () throws(RootError) -> Answer) throws(RootError) -> Answer {
        try withLock(creating: true) { (_) throws(RootError) in try body() }
    }

    /// As ``withLock(_:)``, for what may do without keeping out other processes: a new name, which is never made where
    /// there is one.
    /// - Parameters:
    ///   - creating: makes the state folder that other processes are kept out with, where that can be.
    ///   - body: told whether they are kept out.
    /// - Returns: what `body` gives.
    /// - Throws: what `body` throws; ``RootError/tooMany`` when another process keeps the lock for too long.
    func withLock<Answer>(
        creating: Bool, _ body: (Bool) throws(RootError) -> Answer
    ) throws(RootError) -> Answer {
        try inProcess.withLock { (kept) throws(RootError) -> Answer in
            // A read-only share changes no name.
            guard !state.isReadOnly, let folder = try folder(creating: creating) else { return try body(false) }
            let lock: StateLock
            do throws(RootError) {
                lock = try StateLock(named: "commit", folder: folder, kept: &kept.file)
            } catch .noSpace {
                // A disk without room for one more file must still let files be removed.
                return try body(false)
            }
            defer { lock.release() }
            return try body(true)
        }
    }

    private func folder(creating: Bool) throws(RootError) -> OpenDescriptor? {
        // Where none can be made, the exclusion of this process's own threads is all there is.
        if creating, let made = try? state.descriptor(creating: true) { return made }
        return try state.descriptor(creating: false)
    }
}
