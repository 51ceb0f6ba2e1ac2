/// All state that lives in the share's `.shareserve/`: one of each store, over one folder, lock and clock.
package final class SharedState: Sendable {
    package let folder: StateFolder
    package let clock: RootClock
    package let locks: LockTable
    package let properties: PropertyStore
    package let snapshots: SnapshotStore

    /// - Parameters:
    ///   - root: the open root, which outlives this object.
    ///   - rootDevice: of the root's file system.
    ///   - policy: limits, and whether anything may be written.
    ///   - abilities: what may be tried before the fallbacks.
    ///   - clock: what time-outs count by.
    init(root: Int32, rootDevice: UInt64, policy: RootPolicy, abilities: Abilities, clock: RootClock) {
        folder = StateFolder(root: root, isReadOnly: policy.isReadOnly, waitsForDisk: policy.waitsForDisk)
        self.clock = clock
        locks = LockTable(state: folder, policy: policy, clock: clock)
        properties = PropertyStore(
            state: folder, rootDevice: rootDevice, usesAttributes: abilities.extendedAttributes)
        snapshots = SnapshotStore(state: folder, clock: clock)
    }
}

extension DirectoryRoot {
    /// What went wrong with the state in the share since somebody last asked: for the log.
    public func takeIncidents() -> [StateIncident] { state.folder.incidents.take() }
}
