extension Share {
    /// The locks that cover `path`, its own and those of depth infinity above. One `stat` when nothing changed.
    public func locks(covering path: SharePath) throws(RootError) -> [ActiveLock] { fatalError() }

    /// Takes a write lock; an unmapped name becomes an empty file (`created`).
    /// - Throws: ``RootError/locked(_:)`` naming the conflicting lock roots.
    public func lock(_ path: SharePath, _ request: LockRequest) throws(RootError) -> (lock: ActiveLock, created: Bool) {
        fatalError()
    }

    /// Restarts the time-out of those submitted locks that cover `path`.
    public func refreshLocks(
        at path: SharePath, timeout: Duration?
    ) throws(RootError) -> [ActiveLock] { fatalError() }

    /// Ends a lock.
    /// - Throws: ``RootError/unknownToken`` when no such lock covers `path`; ``RootError/forbidden`` for another user's.
    public func unlock(_ path: SharePath, token: LockToken) throws(RootError) { fatalError() }
}
