extension Share {
    /// Creates one directory; `precondition` as in ``beginUpload(to:replacing:size:)``.
    public func createDirectory(at path: SharePath, replacing: Replacement = .nothing) throws(RootError) {
        fatalError()
    }

    /// Starts writing a new content for `path`; nothing shows under the name before ``PendingUpload/commit()``.
    /// Checks rights, locks, parent and precondition at once, so that a hopeless body need not be read; all are checked
    /// again in the commit.
    /// - Parameter size: the number of bytes that will come, where known: refused early when there is no room.
    public func beginUpload(
        to path: SharePath, replacing: Replacement, size: Int64? = nil
    ) throws(RootError) -> PendingUpload { fatalError() }

    /// Sets times of a file or directory as a client asked (`X-OC-Mtime`, Win32LastModifiedTime); nil leaves one alone.
    public func setTimes(of path: SharePath, modified: Timestamp?, accessed: Timestamp? = nil) throws(RootError) {
        fatalError()
    }
}
