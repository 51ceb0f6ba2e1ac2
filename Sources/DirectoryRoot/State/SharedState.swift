import CSyscalls
import Synchronization

/// All state that lives in the share's `.shareserve/`: one of each store, over one folder, lock and clock.
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
    /// When properties of what went long ago were last looked for, by the time that only moves forward.
    fileprivate let propertySweep = Mutex<Duration?>(nil)

    /// - Parameters:
    ///   - root: the open root, which outlives this object.
    ///   - rootDevice: of the root's file system.
    ///   - policy: limits, and whether anything may be written.
    ///   - abilities: what may be tried before the fallbacks.
    ///   - clock: what time-outs count by.
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
    /// Removes what is over: uploads that nobody went on with, what was in the trash long enough, and what killed
    /// processes left of trees and files that they were removing, replacing or making.
    ///
    /// At the start, and from time to time: every minute is not too often.
    public func sweep() throws(RootError) {
        if !policy.isReadOnly {
            RemovalNote.finishAll(in: self)
            try? RenameJournal.finishAll(in: self)
            scratch.removeLeftovers(at: state.clock.wall())
        }
        // What can't be read of one store is no reason to leave the others as they are.
        var attempts = Attempts()
        attempts.run { () throws(RootError) in
            // They keep the root open for as long as it takes.
            try state.uploads.settle { [self] in
                try? resolver.open($0, flags: sys_o_path).descriptor.status()
            } securing: { [self] path throws(RootError) in
                try resolver.secure(path)
            }
        }
        attempts.run { () throws(RootError) in try state.uploads.sweep() }
        attempts.run { () throws(RootError) in try state.trash.purge(under: commitLock) }
        // First what ended while there was no room to say so; what there still is no room for is tried again.
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

    /// At the start and once a day: each file of them is read, and a disk that nobody uses shall sleep.
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

    /// Whether what is deleted now could go to the trash as far as room on the disk is concerned; does not wait.
    ///
    /// As of the last ``sweep()``, or the last try.
    public var hasRoomForTrash: Bool { !state.folder.hasNoRoom.load(ordering: .relaxed) }

    /// What went wrong with the state in the share since somebody last asked: for the log.
    public func takeIncidents() -> [StateIncident] { state.folder.incidents.take() }
}
