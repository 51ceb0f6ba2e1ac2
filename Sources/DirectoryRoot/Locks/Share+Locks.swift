import CSyscalls

extension Share {
    /// The locks that cover `path`, its own and those of depth infinity above.
    ///
    /// One `stat` when nothing changed.
    ///
    /// A lock that was taken above ``base`` shows with ``SharePath/root`` as its root.
    public func locks(covering path: SharePath) throws(RootError) -> [ActiveLock] {
        if try root.state.locks.isEmpty() { return [] }
        return try root.state.locks.covering(lockPath(path)).map { seen($0) }
    }

    /// The locks that cover `path`, and those on anything below it: all that a listing of it has to show.
    ///
    /// Those below show where the asker looks, also when a symbolic link lies between; not those of what the asker may
    /// not read.
    public func locks(within path: SharePath) throws(RootError) -> [ActiveLock] {
        if try root.state.locks.isEmpty() { return [] }
        let full = try absolute(path)
        let real = try lockPath(path)
        let found = try root.state.locks.around(real).filter { lock in
            !real.isAncestor(of: lock.root) || granted(at: lock.root).contains(.read)
        }
        return found.map { lock in
            var lock = lock
            if real != full, let below = lock.root.relative(to: real), let shown = try? full.appending(below) {
                lock.root = shown
            }
            return seen(lock)
        }
    }

    /// Takes a write lock; an unmapped name becomes an empty file (`created`).
    /// - Throws: ``RootError/locked(_:)`` naming the conflicting lock roots; ``RootError/tooMany`` and
    ///   ``RootError/tooManyLocks`` at a limit; for an unmapped name, whatever forbids to create it.
    public func lock(_ path: SharePath, _ request: LockRequest) throws(RootError) -> (lock: ActiveLock, created: Bool) {
        let full = try absolute(path)
        guard root.shows(full) else { throw .notFound }
        guard !root.policy.isReadOnly else { throw .readOnly }
        let table = root.state.locks
        // Before the writes are held up: in a deep folder it takes a while.
        let likely = try lockTarget(full).path
        guard !granted(at: full).isDisjoint(with: [.create, .overwrite]) else { throw refusal(at: full) }
        let isLikelyRespelled = root.mayRespell(likely)
        // No write that has asked for locks before may change a name after this one is taken, and nothing may come or
        // go between the look at what is there and the lock on it.
        let (lock, exists) = try root.commitLock.withLock { () throws(RootError) -> (ActiveLock, Bool) in
            let target = try lockTarget(full)
            let isToFill = target.exists && !granted(at: full).contains(.overwrite) && mayFill(full)
            let wanted: Rights = target.exists && !isToFill ? .overwrite : .create
            guard granted(at: target.path).contains(wanted), granted(at: full).contains(wanted) else {
                throw refusal(at: full)
            }
            try checkPrecondition()
            // Without a folder around it, the lock would not keep others from bringing one, and would end with that.
            if !target.exists {
                guard !leadsToSecrets(full) else { throw refusal(at: full) }
                _ = try root.locate(target.path, followsLink: false)
            }
            let isRespelled = target.path == likely ? isLikelyRespelled : root.mayRespell(target.path)
            let lock = try translated { () throws(RootError) in
                try table.take(target.path, request, user: user, isRespelled: isRespelled)
            }
            return (lock, target.exists)
        }
        if exists { return (seen(lock), false) }
        do throws(RootError) {
            var holder = self
            holder.tokens.append(lock.token)
            holder.precondition = nil
            _ = try holder.beginUpload(to: path, replacing: .nothing, size: 0).commit()
            return (seen(lock), true)
        } catch {
            // Somebody else made it just now: a lock on what exists.
            if error == .exists || error == .isDirectory { return (seen(lock), false) }
            // Why the file could not be made matters more. Nobody has heard of this lock: it ends with its time-out.
            try? table.release(lock.root, token: lock.token, user: user, isUnknown: true)
            throw error
        }
    }

    /// Restarts the time-out of those submitted locks that cover `path`.
    /// - Throws: ``RootError/preconditionFailed`` when none of ``tokens`` covers it; ``RootError/forbidden`` when they
    ///   are another user's.
    public func refreshLocks(at path: SharePath, timeout: Duration?) throws(RootError) -> [ActiveLock] {
        guard !root.policy.isReadOnly else { throw .readOnly }
        return try root.state.locks.refresh(lockPath(path), tokens: tokens, timeout: timeout, user: user)
            .map { seen($0) }
    }

    /// Ends a lock.
    /// - Throws: ``RootError/unknownToken`` when no such lock covers `path`; ``RootError/forbidden`` for another
    ///   user's.
    public func unlock(_ path: SharePath, token: LockToken) throws(RootError) {
        guard !root.policy.isReadOnly else { throw .readOnly }
        try root.state.locks.release(lockPath(path), token: token, user: user)
    }

    /// The path that the lock table knows: from the root, with links resolved and in one spelling, so that one resource
    /// has one lock by whatever way it is reached.
    func lockPath(_ path: SharePath) throws(RootError) -> SharePath { try lockTarget(absolute(path)).path }

    private func mayFill(_ full: SharePath) -> Bool {
        guard let found = try? look(at: full, waiting: true), found.realPath == full else { return false }
        return mayFill(found.status, at: full)
    }

    private func lockTarget(_ full: SharePath) throws(RootError) -> (path: SharePath, exists: Bool) {
        let target = try realTarget(full)
        return (try root.lockSpelling(of: target.path), target.exists)
    }

    private func realTarget(_ full: SharePath) throws(RootError) -> (path: SharePath, exists: Bool) {
        do throws(RootError) {
            let found = try look(at: full, waiting: true)
            guard FileAttributes(found.status) != nil else { throw .notFound }
            return (found.realPath, true)
        } catch .notFound {
            do throws(RootError) {
                return (try look(at: full.parent, waiting: true).realPath.appending(full.name), false)
            } catch .notFound {
                return (full, false)
            }
        }
    }

    /// The lock as this view shows it.
    private func seen(_ lock: ActiveLock) -> ActiveLock {
        var lock = lock
        lock.root = lock.root.relative(to: base) ?? .root
        return lock
    }

    /// Runs `body`, with the paths in a lock conflict as this view shows them.
    func translated<Answer>(_ body: () throws(RootError) -> Answer) throws(RootError) -> Answer {
        do throws(RootError) {
            return try body()
        } catch .locked(let roots) {
            throw .locked(roots.map { $0.relative(to: base) ?? .root })
        }
    }
}
