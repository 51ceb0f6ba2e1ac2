import CSyscalls

/// What the last look for the state folder and the tables in it found, and how to verify that another look would find
/// the same.
///
/// Looking up a name that does not exist costs several times as much as reading the directory's change time, since file
/// systems in memory do not cache missing names. The change time moves with every name that is added, removed or
/// replaced. It is relied on only when it is old enough for the next change to get a different one, and only on file
/// systems in memory, which use this machine's clock.
struct StateGlance {
    /// What the holder of the commit lock may rely on.
    enum Finding {
        /// There is no state folder: no lock is in force and nothing has properties, but no other process is kept out.
        case nothing
        /// No lock is in force, and these hints tell what may have properties.
        case noLocks(PropertyHints)
        /// The tables must be read.
        case tables
    }

    private enum Known {
        /// There is no state folder, as long as the root has this stamp.
        case nothing(Stamp)
        /// There is this state folder, and no lock table in it.
        case noLocks(IdentifiedDescriptor, Stamp, PropertyHints)
    }

    /// The state of a directory at one moment.
    struct Stamp: Equatable {
        private let inode: UInt64
        private let device: UInt64
        private let mount: UInt64
        private let changed: Timestamp

        init(_ found: sys_attributes) {
            inode = found.inode
            device = found.device
            mount = found.mount
            changed = found.changeTime
        }

        /// Whether a change that comes after `now` is certain to change the stamp: even the slowest kernel clocks tick
        /// ten times in a tenth of a second.
        func isSettled(at now: Timestamp) -> Bool { now.since(changed) > .milliseconds(100) }
    }

    private var known: Known?

    /// Notes that there was no state folder after the root was seen as `root`, before `now`.
    mutating func noteNothing(_ root: Stamp, at now: Timestamp) {
        known = root.isSettled(at: now) ? .nothing(root) : nil
    }

    /// Notes that there was no lock table in `folder`, and what may have properties, after the folder was seen as
    /// `stamp`, before `now`.
    mutating func noteNoLocks(
        in folder: IdentifiedDescriptor, _ stamp: Stamp, _ hints: PropertyHints, at now: Timestamp
    ) {
        known = stamp.isSettled(at: now) ? .noLocks(folder, stamp, hints) : nil
    }

    mutating func forget() { known = nil }

    /// Whether it is known that there is no state folder, given the root's current stamp.
    func tellsNothing(_ root: Stamp) -> Bool {
        guard case .nothing(let stamp) = known else { return false }
        return stamp == root
    }

    /// The state folder without a lock table, and what may have properties, if known; to be verified with
    /// ``tellsNoLocks(_:)``.
    var folder: (IdentifiedDescriptor, PropertyHints)? {
        guard case .noLocks(let folder, _, let hints) = known else { return nil }
        return (folder, hints)
    }

    /// Whether ``folder`` still has no lock table, given the current stamp of what has its name.
    func tellsNoLocks(_ now: Stamp) -> Bool {
        guard case .noLocks(_, let stamp, _) = known else { return false }
        return stamp == now
    }
}
