internal import DirectoryRoot

/// A lock, and the resource on which it was taken.
struct ShownLock: Sendable {
    var lock: ActiveLock
    var root: Place

    /// Looks up whether the root is a folder.
    ///
    /// Waits for the disk.
    init(_ lock: ActiveLock, in share: Share) {
        self.lock = lock
        root = Place(lock.root, in: share)
    }
}

/// The locks on, above and below a path, looked up once for a whole listing.
///
/// Kept by their roots, so that the cost per member does not grow with the number of locked members.
struct KnownLocks: Sendable {
    private var locks: [SharePath: [ShownLock]] = [:]
    /// The lengths of the roots' paths in bytes.
    private var lengths: Set<Int> = []

    static let none = KnownLocks()

    private init() {}

    /// The locks that cover `path`, and with `below` also those on anything in it.
    ///
    /// Waits for the disk.
    init(at path: SharePath, andBelow below: Bool, in share: Share) throws(RootError) {
        for found in below ? try share.locks(within: path) : try share.locks(covering: path) {
            let lock = ShownLock(found, in: share)
            locks[lock.root.path, default: []].append(lock)
            lengths.insert(lock.root.path.bytes.count)
        }
    }

    var isEmpty: Bool { locks.isEmpty }

    /// The locks that cover `path`: those on it, and recursive ones above.
    func covering(_ path: SharePath) -> [ShownLock] {
        guard !isEmpty else { return [] }
        var covering = locks[path] ?? []
        for folder in path.ancestors(ofLength: lengths.contains) {
            covering += (locks[folder] ?? []).filter(\.lock.isRecursive)
        }
        return covering
    }
}
