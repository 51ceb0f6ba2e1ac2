import CSyscalls
import Synchronization

extension CommitLock {
    /// Runs `body` under the lock, without waiting for anything.
    ///
    /// - Parameters:
    ///   - root: whose lock this is.
    ///   - body: gets what is known about locks and properties. If there is a state folder, no other process can
    ///     interfere between what it checks and what it does.
    /// - Returns: nil when another thread holds the lock.
    /// - Throws: what `body` throws; ``RootError/busy`` when another process holds the lock;
    ///   ``RootError/notFound`` when there is a state folder without a lock file;
    ///   ``RootError/wouldBlock`` when the root is no longer in memory, or a killed holder left something to do.
    func withLockAtOnce<Answer>(
        in root: DirectoryRoot, _ body: (StateGlance.Finding) throws(RootError) -> Answer
    ) throws(RootError) -> Answer? {
        try inProcess.withLockIfAvailable { (kept) throws(RootError) -> Answer in
            if let (folder, hints) = kept.glance.folder, let lock = try Self.lock(folder, in: root, kept) {
                defer { lock.release() }
                return try body(.noLocks(hints))
            }
            let before = try Self.status(of: root)
            if let before, kept.glance.tellsNothing(before) { return try body(.nothing) }
            kept.glance.forget()
            guard let folder = try state.descriptor(creating: false) else {
                if let before { kept.glance.noteNothing(before, at: root.state.clock.wall()) }
                return try body(.nothing)
            }
            // On a full disk, the last free space is for the upload, not for a lock file.
            let lock = try StateLock(
                named: Self.name, folder: folder, waits: &kept.waits, creating: false, patience: .zero)
            defer { lock.release() }
            // What has to be finished first may wait for the disk.
            guard !lock.isMarked else { throw .wouldBlock }
            let seen = Self.stamp(of: folder, in: root)
            let answer = try body(.tables)
            if let seen, root.state.locks.wasAbsent {
                let hints = try root.state.properties.hints()
                kept.glance.noteNoLocks(in: folder, seen, hints, at: root.state.clock.wall())
            }
            return answer
        }
    }

    /// Takes the lock in a folder that has not changed since a lock table was looked for in it.
    /// - Returns: nil when it has changed.
    private static func lock(
        _ folder: IdentifiedDescriptor, in root: DirectoryRoot, _ kept: Kept
    ) throws(RootError) -> StateLock? {
        do throws(RootError) {
            return try StateLock(named: Self.name, folder: folder) {
                stamp(of: folder, in: root).map(kept.glance.tellsNoLocks) ?? false
            }
        } catch .notFound {
            return nil
        }
    }

    /// The root's current stamp; nil when it was never in memory.
    private static func status(of root: DirectoryRoot) throws(RootError) -> StateGlance.Stamp? {
        guard root.isInMemory else { return nil }
        let found = try sys_attributes(of: root.descriptor)
        guard found.device == root.memoryDevice, found.links > 0 else { throw .wouldBlock }
        return StateGlance.Stamp(found)
    }

    /// The current stamp of what has the folder's name; nil when that is not the folder, or not in memory.
    private static func stamp(of folder: IdentifiedDescriptor, in root: DirectoryRoot) -> StateGlance.Stamp? {
        var found = sys_attributes()
        guard unsafe sys_statat(root.descriptor, StateFolder.name, &found) == 0, folder.isSame(as: found),
            found.device == root.memoryDevice
        else { return nil }
        return StateGlance.Stamp(found)
    }
}
