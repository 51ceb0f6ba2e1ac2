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
///
/// By their roots, so that a member does not cost the more the more of the others are locked.
struct KnownLocks: Sendable {
    private var locks: [SharePath: [ShownLock]] = [:]
    /// How many bytes the roots have.
    private var lengths: Set<Int> = []

    static let none = KnownLocks()

    private init() {}

    /// Those that cover `path`, and with `below` those on anything in it.
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

    /// Those that cover `path`: its own, and the recursive ones above.
    func covering(_ path: SharePath) -> [ShownLock] {
        guard !isEmpty else { return [] }
        var covering = locks[path] ?? []
        for folder in path.ancestors(ofLength: lengths.contains) {
            covering += (locks[folder] ?? []).filter(\.lock.isRecursive)
        }
        return covering
    }
}
