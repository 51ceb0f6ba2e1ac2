/// Where a file system accepts several spellings of a name, a resource has its locks under the one that was locked
/// first.
extension DirectoryRoot {
    /// `path` (from the root) in the spelling under which the same resource, or one above or below it, is locked.
    ///
    /// Looks at the disk only for a path that resembles a lock's, on a file system that may take one for the other.
    func lockSpelling(of path: SharePath) throws(RootError) -> SharePath {
        lockSpelling(of: path, among: try state.locks.respelledRoots())
    }

    /// Lets a write proceed, or names the locks that forbid it, under whichever spelling they were taken.
    /// - Throws: as ``LockTable/check(_:tokens:user:)``.
    func checkLocks(_ use: WriteUse, tokens: [LockToken], user: String?) throws(RootError) {
        let roots = try state.locks.check(use, tokens: tokens, user: user)
        guard !roots.isEmpty else { return }
        func spelled(_ paths: [SharePath]) -> [SharePath] { paths.map { lockSpelling(of: $0, among: roots) } }
        let meant = WriteUse(
            changes: spelled(use.changes), bindings: spelled(use.bindings), trees: spelled(use.trees))
        guard meant != use else { return }
        try state.locks.check(meant, tokens: tokens, user: user)
    }

    /// Ends the locks at and below `path` (from the root), which was deleted, moved away or replaced.
    ///
    /// That has already happened, and a client would repeat what is reported as failed: a lock that can't be ended now
    /// ends with its time-out.
    func dropLocks(below path: SharePath) {
        try? state.locks.drop(below: path) { path, roots in
            lockSpelling(of: path, among: roots) { spelling in
                // What is gone under one spelling, and was there under the other, can't be found out by looking for it.
                confuses(spelling) || spelling.folder == path.parent && !lists(spelling.known, in: spelling.folder)
            }
        }
    }

    private func lockSpelling(of path: SharePath, among roots: [SharePath]) -> SharePath {
        lockSpelling(of: path, among: roots) { confuses($0) }
    }

    private func lockSpelling(
        of path: SharePath, among roots: [SharePath], where isOne: (OtherSpelling) -> Bool
    ) -> SharePath {
        var path = path
        for root in roots {
            let spellings = path.beginningSpellings(of: root).prefix(while: isOne)
            if !spellings.isEmpty { path = path.respelled(Array(spellings)) }
        }
        return path
    }
}
