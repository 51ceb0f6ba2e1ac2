import CSyscalls
import Synchronization

/// All state in the share's `.shareserve/`: one of each store, sharing one folder, lock and clock.
package final class SharedState: Sendable {
    package let folder: StateFolder
    package let clock: RootClock
    package let locks: LockTable
    package let properties: PropertyStore
    package let snapshots: SnapshotStore
    package let uploads: UploadStore
    package let trash: Trash
    package let feed: ChangeFeed
    package let links: LinkStore
    let endedSessions: EndedSessions
    /// When properties of deleted resources were last looked for, by uptime.
    fileprivate let propertySweep = Mutex<Duration?>(nil)

    /// - Parameters:
    ///   - root: the open root, which outlives this object.
    ///   - rootDevice: of the root's file system.
    ///   - policy: limits, and whether anything may be written.
    ///   - abilities: what may be tried before the fallbacks.
    ///   - clock: by which time-outs count.
    init(root: Int32, rootDevice: UInt64, policy: RootPolicy, abilities: Abilities, clock: RootClock) {
        folder = StateFolder(
            root: root, isReadOnly: policy.isReadOnly, waitsForDisk: policy.waitsForDisk, owner: policy.stateOwner)
        self.clock = clock
        locks = LockTable(state: folder, policy: policy, clock: clock)
        properties = PropertyStore(
            state: folder, rootDevice: rootDevice, usesAttributes: abilities.extendedAttributes)
        snapshots = SnapshotStore(state: folder, clock: clock)
        uploads = UploadStore(state: folder, policy: policy, clock: clock)
        trash = Trash(state: folder, properties: properties, policy: policy, clock: clock)
        feed = ChangeFeed(mostWatches: policy.maxWatches)
        links = LinkStore(state: folder, clock: clock)
        endedSessions = EndedSessions(state: folder, clock: clock)
    }
}

extension DirectoryRoot {
    /// Removes what has expired: uploads without progress, what was in the trash long enough, and what killed processes
    /// left of trees and files that they were removing, replacing or creating.
    ///
    /// Called at the start, and from time to time: every minute is not too often.
    public func sweep() throws(RootError) {
        if !policy.isReadOnly {
            RemovalNote.finishAll(in: self)
            try? RenameJournal.finishAll(in: self)
            scratch.removeLeftovers(at: state.clock.wall())
        }
        // If one store can't be read, the others are swept all the same.
        var attempts = Attempts()
        attempts.run { () throws(RootError) in
            // These closures keep the root open while they run.
            try state.uploads.settle { [self] in
                try? resolver.open($0, flags: sys_o_path).descriptor.status()
            } securing: { [self] path throws(RootError) in
                try resolver.secure(path)
            }
        }
        attempts.run { () throws(RootError) in try state.uploads.sweep() }
        attempts.run { () throws(RootError) in try state.links.sweep() }
        attempts.run { () throws(RootError) in try state.trash.purge(under: commitLock) }
        // First record what ended while there was no disk space for it; what still can't be written is tried again
        // later.
        try? state.locks.settle()
        try? state.endedSessions.settle()
        state.folder.fillSpareRoom()
        attempts.run { () throws(RootError) in try sweepProperties() }
        attempts.run { () throws(RootError) in try removeStrays() }
        try attempts.finish()
    }

    private func removeStrays() throws(RootError) {
        guard !policy.isReadOnly, let folder = try state.folder.descriptor(creating: false) else { return }
        let now = state.clock.wall()
        for name in try StateFolder.names(in: folder) { StateFolder.removeStray(name, in: folder, at: now) }
    }

    /// At the start and once a day only: it reads every property file, and a disk that nobody uses should sleep.
    private func sweepProperties() throws(RootError) {
        let now = state.clock.uptime()
        let isDue = state.propertySweep.withLock { last in
            if let last, now - last < .seconds(86_400) { return false }
            last = now
            return true
        }
        guard isDue else { return }
        try state.properties.sweep { (path) throws(RootError) in
            PropertyResource(try resolver.open(path, flags: sys_o_path).descriptor.status(), path: path)
        }
    }

    /// Whether there is enough disk space for what is deleted now to go to the trash; does not wait.
    ///
    /// As of the last ``sweep()``, or the last attempt.
    public var hasRoomForTrash: Bool { !state.folder.hasNoRoom.load(ordering: .relaxed) }

    /// What went wrong with the share's state since the last call: for the log.
    public func takeIncidents() -> [StateIncident] { state.folder.incidents.take() }
}
