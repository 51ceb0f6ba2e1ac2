/// What every write asks and tells the tables of the state folder. All paths are from the root.
extension Share {
    /// Lets a write go on, or names the locks that forbid it. Asked right before the names change, under the commit lock.
    func checkLocks(_ use: WriteUse) throws(RootError) {}

    /// The thing at `path` is gone: its locks end, and properties kept elsewhere go too.
    func didRemove(_ path: SharePath) throws(RootError) {}

    /// What was at `source` is at `target` now, and what was at `target` is gone: locks of both end, properties follow.
    func didMove(_ source: SharePath, to target: SharePath) throws(RootError) {}

    /// Gives a copy that has no name yet the dead properties of what it is a copy of.
    func copyProperties(from source: Int32, at path: SharePath, to copy: Int32, at target: SharePath) throws(RootError)
    {}

    /// Gives a file's new content, which has no name yet, the dead properties of the old one. RFC 4918 §9.7.1 leaves them
    /// alone.
    func keepProperties(of old: borrowing Location, in new: Int32) throws(RootError) {}

    /// Puts what is deleted or replaced into the trash where there is one; false to let it go.
    func takeToTrash(_ location: borrowing Location) throws(RootError) -> Bool { false }
}
