/// One resource has its locks under one spelling, the first that a lock was taken on, where a disk knows several.
extension DirectoryRoot {
    /// `path` (from the root) in the spelling that the locks of the same resource, or near it, have.
    ///
    /// Looks at the disk only for a path that is like a lock's, on a disk that may take one for the other.
    func lockSpelling(of path: SharePath) throws(RootError) -> SharePath {
        lockSpelling(of: path, among: try state.locks.respelledRoots())
    }

    /// Lets a write go on, or names the locks that forbid it, under whichever spelling they were taken.
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

    /// Ends the locks at and below `path` (from the root): of what was deleted, moved away or replaced.
    ///
    /// That is done by now, and what would be answered as failed would be done again: a lock that can't be ended is
    /// over with its time.
    func dropLocks(below path: SharePath) {
        try? state.locks.drop(below: path) { path, roots in
            lockSpelling(of: path, among: roots) { spelling in
                // What is gone under one spelling and was there under the other tells nothing by being looked for.
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
