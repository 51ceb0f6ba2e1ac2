internal import DirectoryRoot

/// The locks in and above a place, looked up once for a whole listing.
struct KnownLocks: Sendable {
    private let locks: [ActiveLock]

    static let none = KnownLocks(locks: [])

    init(locks: [ActiveLock]) { self.locks = locks }

    var isEmpty: Bool { locks.isEmpty }

    /// Those that cover `path`: its own, and the recursive ones above.
    func covering(_ path: SharePath) -> [ActiveLock] {
        locks.filter { $0.root == path || $0.isRecursive && $0.root.isAncestor(of: path) }
    }
}
