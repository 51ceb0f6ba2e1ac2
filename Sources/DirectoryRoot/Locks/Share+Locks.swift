import CSyscalls

extension Share {
    /// The locks that cover `path`, its own and those of depth infinity above.
    ///
    /// One `fstatat` when nothing changed.
    ///
    /// A lock that was taken above ``base`` shows with ``SharePath/root`` as its root.
    public func locks(covering path: SharePath) throws(RootError) -> [ActiveLock] {
        if try root.state.locks.isEmpty() { return [] }
        return try root.state.locks.covering(lockPath(path)).map { seen($0) }
    }

    /// The locks that cover `path`, and those on anything below it: all that a listing of it has to show.
    ///
    /// Locks below appear at the paths by which the requester reaches them, also when a symbolic link lies between;
    /// locks on what the requester may not read are left out.
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
    /// - Parameters:
    ///   - path: what to lock.
    ///   - request: what is asked for.
    ///   - makesFile: false where the name can only be a folder's.
    /// - Returns: the lock, and whether there is a new file.
    /// - Throws: ``RootError/locked(_:)`` naming the conflicting lock roots; ``RootError/tooMany`` and
    ///   ``RootError/tooManyLocks`` at a limit; ``RootError/tooLarge`` for an owner beyond
    ///   ``LockRequest/mostOwnerBytes``; ``RootError/changedMeanwhile`` when other programs took the name each time;
    ///   for an unmapped name, whatever forbids creating it, and ``RootError/notDirectory`` if `makesFile` is false.
    public func lock(
        _ path: SharePath, _ request: LockRequest, makesFile: Bool = true
    ) throws(RootError) -> (lock: ActiveLock, created: Bool) {
        func emptyFile() throws(RootError) -> TemporaryFile {
            guard makesFile else { throw .notDirectory }
            return try self.emptyFile(for: path)
        }
        let full = try absolute(path)
        guard root.shows(full) else { throw .notFound }
        guard !root.policy.isReadOnly else { throw .readOnly }
        root.awaitFarDisk(of: full)
        // Done before other writes are held up: in a deep folder it takes a while.
        let likely = try lockTarget(full)
        guard !granted(at: full).isDisjoint(with: [.create, .overwrite]) else { throw refusal(at: full) }
        let isLikelyRespelled = root.mayRespell(likely.path)
        var file = likely.exists ? nil : try emptyFile()
        for _ in 0..<Self.mostLooks {
            do throws(RootError) {
                let (lock, made) = try lock(full, request, making: file) {
                    $0 == likely.path ? isLikelyRespelled : root.mayRespell($0)
                }
                if let made {
                    root.recentCommits.note(made.entityTag, by: origin)
                    noteArrival(made, at: full)
                    tell(.upload(full))
                }
                return (seen(lock), made != nil)
            } catch .exists {
                // Another program took the free name between the look and the link: look again.
                continue
            } catch .notFound where file == nil {
                // What was there has been removed.
                file = try emptyFile()
            }
        }
        throw .changedMeanwhile
    }

    /// Takes the lock, and before that gives the new file its name: a process that is killed in between leaves an empty
    /// file, and never a lock on a missing file, which nobody could see or end.
    /// - Parameters:
    ///   - full: from the root.
    ///   - request: what is asked for.
    ///   - file: the empty file for a name that is free.
    ///   - mayRespell: whether the disk may know a path by other spellings.
    /// - Returns: the lock, and the attributes of the file that was created.
    /// - Throws: ``RootError/exists`` when the name was taken just now, and ``RootError/notFound`` when nothing is
    ///   there and `file` is nil; else as ``lock(_:_:)``.
    private func lock(
        _ full: SharePath, _ request: LockRequest, making file: TemporaryFile?, mayRespell: (SharePath) -> Bool
    ) throws(RootError) -> (ActiveLock, made: FileAttributes?) {
        var taken: ActiveLock?
        do throws(RootError) {
            // No write that checked the locks before may change a name after this lock is taken, and nothing may appear
            // or vanish between the look at the target and the lock on it.
            return try root.commitLock.withLock { () throws(RootError) in
                let target = try lockTarget(full)
                let made = try requireLockable(target, at: full, request, making: file)
                do throws(RootError) {
                    let lock = try translated { () throws(RootError) in
                        try root.state.locks.take(
                            target.path, request, user: user, isRespelled: mayRespell(target.path))
                    }
                    taken = lock
                    return (lock, made)
                } catch {
                    // The reason why it can't be locked matters more than an empty file that can't be removed.
                    if made != nil, let file { try? takeBack(file, at: full) }
                    throw error
                }
            }
        } catch {
            // The disk could not be synced. No client knows of this lock, which would otherwise remain until its
            // time-out.
            if let taken { try? root.state.locks.release(taken.root, token: taken.token, user: user, isUnknown: true) }
            throw error
        }
    }

    /// Makes sure that a lock may be taken, on a file that is created for it when the name is free; under the commit
    /// lock.
    /// - Returns: the attributes of the file that was created.
    /// - Throws: as ``lock(_:_:making:mayRespell:)``.
    private func requireLockable(
        _ target: (path: SharePath, exists: Bool), at full: SharePath, _ request: LockRequest,
        making file: TemporaryFile?
    ) throws(RootError) -> FileAttributes? {
        let isToFill = target.exists && !granted(at: full).contains(.overwrite) && mayFill(full)
        let wanted: Rights = target.exists && !isToFill ? .overwrite : .create
        guard granted(at: target.path).contains(wanted), granted(at: full).contains(wanted) else {
            throw refusal(at: full)
        }
        // Otherwise it would keep others from what this requester may not even see, and reveal their locks there.
        if target.exists, request.isRecursive { try requireRights(throughout: wanted, at: full, target.path) }
        try checkPrecondition()
        guard !target.exists else { return nil }
        guard !leadsToSecrets(full) else { throw refusal(at: full) }
        guard let file else { throw .notFound }
        return try place(file, at: full, replacing: .nothing, isAlone: true)?.attributes
    }

    /// An empty file for a name that is free.
    private func emptyFile(for path: SharePath) throws(RootError) -> TemporaryFile {
        let path = try writable(path, orElse: .isDirectory)
        let location = try locateTarget(path, followsLink: true)
        try ask(.upload(path))
        if root.freeSpaceReserve > 0 { try root.requireSpace(for: 0, at: location.directory.number) }
        let file = try TemporaryFile(in: root, near: location.directory)
        try file.setModified(nil)
        try file.order(durably: root.policy.waitsForDisk)
        return file
    }

    /// Removes the file that was just created; under the commit lock.
    private func takeBack(_ file: TemporaryFile, at path: SharePath) throws(RootError) {
        let location = try locateTarget(path, followsLink: true)
        guard let now = location.status, try now.isSame(as: file.status()) else { return }
        try check(unsafe location.withName { unsafe sys_unlinkat(location.directory.number, $0, 0) }, "unlink")
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

    /// The path under which the lock table knows a resource: from the root, with links resolved and in one spelling, so
    /// that it has the same locks whichever way it is reached.
    func lockPath(_ path: SharePath) throws(RootError) -> SharePath { try lockTarget(absolute(path)).path }

    /// What a link leads to: it has the locks that were taken at the address of the link, which hold for the link itself
    /// too; empty for anything else.
    func lead(of location: borrowing Location) -> [SharePath] {
        guard location.status?.isLink == true else { return [] }
        return (try? look(at: location.path, waiting: true)).map { [$0.realPath] } ?? []
    }

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
