import CSyscalls

/// What the last look for the state folder and the tables in it found, and how to see that another would find the same.
///
/// A look for a name that is not there costs several times as much as one at the directory's change time, since file
/// systems in memory do not remember that a name is missing. The change time moves with every name that comes, goes or
/// is replaced. It is relied on only when it is old enough for the next change to get another one, and only on file
/// systems in memory, whose clock is this machine's.
struct StateGlance {
    /// What the holder of the commit lock may rely on.
    enum Finding {
        /// There is no state folder: no lock is in force and nothing has properties, but no other process is kept out.
        case nothing
        /// No lock is in force, and nothing but this may have properties.
        case noLocks(PropertyHints)
        /// The tables must be asked.
        case tables
    }

    private enum Known {
        /// There is no state folder, as long as the root is this.
        case nothing(Stamp)
        /// There is this one, and no table of locks in it.
        case noLocks(IdentifiedDescriptor, Stamp, PropertyHints)
    }

    /// A directory at a moment.
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

        /// Whether a change that comes after `now` is sure to change it: the clock of the slowest kernels moves on ten
        /// times in a tenth of a second.
        func isSettled(at now: Timestamp) -> Bool { now.since(changed) > .milliseconds(100) }
    }

    private var known: Known?

    /// Notes that there was no state folder after the root was seen as `root`, before `now`.
    mutating func noteNothing(_ root: Stamp, at now: Timestamp) {
        known = root.isSettled(at: now) ? .nothing(root) : nil
    }

    /// Notes that there was no table of locks in `folder`, and what may have properties, after that was seen as
    /// `stamp`, before `now`.
    mutating func noteNoLocks(
        in folder: IdentifiedDescriptor, _ stamp: Stamp, _ hints: PropertyHints, at now: Timestamp
    ) {
        known = stamp.isSettled(at: now) ? .noLocks(folder, stamp, hints) : nil
    }

    mutating func forget() { known = nil }

    /// Whether there is no state folder, where `root` is the root as it is now.
    func tellsNothing(_ root: Stamp) -> Bool {
        guard case .nothing(let stamp) = known else { return false }
        return stamp == root
    }

    /// The state folder that has no table of locks, and what may have properties, where that is known; for
    /// ``tellsNoLocks(_:)``.
    var folder: (IdentifiedDescriptor, PropertyHints)? {
        guard case .noLocks(let folder, _, let hints) = known else { return nil }
        return (folder, hints)
    }

    /// Whether ``folder`` still has none, where `now` is what has its name.
    func tellsNoLocks(_ now: Stamp) -> Bool {
        guard case .noLocks(_, let stamp, _) = known else { return false }
        return stamp == now
    }
}
