internal import DirectoryRoot

/// A lock, and where it was taken.
struct ShownLock: Sendable {
    var lock: ActiveLock
    var root: Place

    /// Looks whether the root is a folder.
    ///
    /// Waits for the disk.
    init(_ lock: ActiveLock, in share: Share) {
        self.lock = lock
        root = Place(lock.root, in: share)
    }
}

/// The locks in and above a place, looked up once for a whole listing.
struct KnownLocks: Sendable {
    private let locks: [ShownLock]

    static let none = KnownLocks(locks: [])

    private init(locks: [ShownLock]) { self.locks = locks }

    /// Those that cover `path`, and with `below` those on anything in it.
    ///
    /// Waits for the disk.
    init(at path: SharePath, andBelow below: Bool, in share: Share) throws(RootError) {
        let found = below ? try share.locks(within: path) : try share.locks(covering: path)
        locks = found.map { ShownLock($0, in: share) }
    }

    var isEmpty: Bool { locks.isEmpty }

    /// Those that cover `path`: its own, and the recursive ones above.
    func covering(_ path: SharePath) -> [ShownLock] {
        locks.filter { $0.root.path == path || $0.lock.isRecursive && $0.root.path.isAncestor(of: path) }
    }
}
