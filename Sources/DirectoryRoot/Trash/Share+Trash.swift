import CSyscalls

extension Share {
    /// Deletes a file or tree so that it can be restored: by one rename into the share's trash.
    ///
    /// It is kept for a minute, or for ``RootPolicy/trashDays``; or for `time`, if that is longer.
    /// - Parameters:
    ///   - path: must exist; for a link, the link itself is deleted.
    ///   - time: for one of many things that are deleted, and restored, together.
    /// - Returns: the item; nil when it is on another file system than the trash: then nothing was done, and
    ///   ``remove(_:when:)`` deletes it for good.
    /// - Throws: as ``remove(_:when:)``.
    public func moveToTrash(_ path: SharePath, for time: Duration = .zero) throws(RootError) -> TrashItem? {
        let path = try deletable(path)
        try ask(.delete(path))
        let taken = try root.commitLock.withLock { () throws(RootError) -> (TrashRecord, sys_attributes)? in
            let location = try locateSource(path, followsLink: false)
            try requireRights(throughout: .delete, at: path, location.path)
            try checkLocks(WriteUse(changes: lead(of: location), trees: [location.path]))
            guard let status = location.status, let record = try root.state.trash.take(location, user: user, for: time)
            else {
                return nil
            }
            root.dropLocks(below: location.path)
            if root.policy.waitsForDisk { try syncDirectory(of: location, .moved(record)) }
            return (record, status)
        }
        // Returned whatever has become of the item since: a caller that got nil would delete what has the name by then.
        guard let taken else { return nil }
        tell(.delete(path))
        return seen(taken)
    }

    /// The items in the trash that this requester may see, the newest first.
    public func trashItems() throws(RootError) -> [TrashItem] {
        try root.state.trash.all()
            .filter { mayReach($0.record) }
            .map(seen)
            .sorted { ($0.deleted, $0.id) > ($1.deleted, $1.id) }
    }

    /// Puts an item back where it was, with the folders above it.
    ///
    /// - Parameters:
    ///   - id: of the item.
    ///   - conflict: what to do when the name is in use again.
    /// - Returns: where it is now.
    /// - Throws: ``RootError/unknownToken`` when it is not in the trash (any more); ``RootError/exists``; and what
    ///   forbids creating it there.
    public func restore(_ id: String, onConflict conflict: TrashConflict = .fail) throws(RootError) -> SharePath {
        guard !root.policy.isReadOnly else { throw .readOnly }
        guard let item = try root.state.trash.find(id), mayReach(item.record),
            let path = item.record.path.relative(to: base)
        else { throw .unknownToken }
        try ask(.restore(item.record.path))
        try makeParents(of: path)
        for number in 0..<1_000 {
            let candidate =
                conflict == .keepBoth ? try path.numbered(number, isDirectory: item.status.isDirectory) : path
            // Under another name, the rules for places inside it would no longer apply.
            guard number == 0 || allows(.read, throughout: item.record.path) else { throw .forbidden }
            do throws(RootError) {
                try restore(id, item.status, to: candidate, replacing: conflict == .replace)
                tell(.restore(try absolute(candidate)))
                return candidate
            } catch .exists where conflict == .keepBoth {
                continue
            }
        }
        throw .exists
    }

    /// Removes an item for good.
    /// - Throws: ``RootError/unknownToken`` when it is not in the trash; ``RootError/forbidden`` without the right to
    ///   delete.
    public func deleteFromTrash(_ id: String) throws(RootError) {
        try erase(id)
        if root.policy.waitsForDisk { try root.state.trash.settle() }
    }

    private func erase(_ id: String) throws(RootError) {
        guard !root.policy.isReadOnly else { throw .readOnly }
        // The lock keeps this from happening while a replacement, or what was replaced, has the item's name for a
        // moment.
        try root.commitLock.withLock { () throws(RootError) in
            guard let item = try root.state.trash.find(id), mayReach(item.record) else { throw .unknownToken }
            guard mayErase(item.record) else { throw .forbidden }
            try root.state.trash.condemn(id)
        }
        try root.state.trash.removeCondemned(id)
    }

    /// Removes from the trash everything that this requester could delete where it was.
    /// - Throws: ``RootError/forbidden`` when there are items, but the requester may delete none of them; what the disk
    ///   reports for the first that it could not remove, after all others are gone.
    public func emptyTrash() throws(RootError) {
        guard !root.policy.isReadOnly else { throw .readOnly }
        let items = try root.state.trash.all().map(\.record).filter(mayReach)
        let deletable = items.filter(mayErase)
        guard items.isEmpty || !deletable.isEmpty else { throw .forbidden }
        var attempts = Attempts()
        for item in deletable {
            attempts.run { () throws(RootError) in
                do throws(RootError) {
                    try erase(item.id)
                } catch .unknownToken {
                    // Somebody else was first.
                }
            }
        }
        if root.policy.waitsForDisk { try root.state.trash.settle() }
        try attempts.finish()
    }

    private func mayErase(_ record: TrashRecord) -> Bool {
        !root.policy.refusesDelete && allows(.delete, throughout: record.path)
    }

    // MARK: -

    private func restore(
        _ id: String, _ status: sys_attributes, to path: SharePath, replacing: Bool
    ) throws(RootError) {
        let isDirectory = status.isDirectory
        let full = try writable(path, orElse: .selfReference)
        try root.commitLock.withLock { () throws(RootError) in
            let location = try locateTarget(full, followsLink: false)
            var replaced = Trash.Kept.nothing
            var isDone = false
            if isDirectory { try requireRights(throughout: .create, at: full, location.path) }
            if location.status == nil {
                try requireNewName(full, location.path, isDirectory: isDirectory)
                try checkLocks(WriteUse(bindings: [location.path]))
            } else {
                guard replacing else { throw .exists }
                guard location.status?.isDirectory != true || !root.policy.refusesDelete else { throw .forbidden }
                try requireRights(throughout: [.overwrite, .delete], at: full, location.path)
                try requireReplaceable(location, asked: full)
                try checkLocks(WriteUse(changes: lead(of: location), trees: [location.path]))
                if let exchanged = try exchange(id, with: location) {
                    (replaced, isDone) = (.moved(exchanged), true)
                } else {
                    replaced = try root.state.trash.takeReplaced(location, user: user, of: root)
                    guard !replaced.isNothing else { throw .exists }
                }
            }
            defer { if !isDone { root.state.trash.giveBack(replaced, to: location, of: root) } }
            if !isDone {
                try root.renameToFreeName(root.state.trash.place(of: id), location)
                isDone = true
                replaced.end()
            }
            if let back = FileAttributes(status) { root.recentCommits.note(back.entityTag, by: origin) }
            if replaced.isMoved { root.dropLocks(below: location.path) }
            // The item is back, and a record without an item is ignored.
            try? root.state.trash.forget(id)
            if root.policy.waitsForDisk { try syncDirectory(of: location, replaced, atOnce: isDirectory) }
        }
    }

    /// Exchanges an item with something that goes to the trash, so that the name is never free.
    ///
    /// A kill in between leaves what was replaced in the trash under the item's own record.
    /// - Returns: the record of what was replaced; nil when such an exchange is not supported: then nothing has
    ///   changed.
    private func exchange(_ id: String, with location: borrowing Location) throws(RootError) -> TrashRecord? {
        guard root.abilities.renameFlags, let reserved = try root.state.trash.reserve(location, user: user) else {
            return nil
        }
        let item = try root.state.trash.place(of: id)
        let answer = root.exchange(item, with: location)
        guard answer == 0 else {
            root.state.trash.release(reserved)
            try Self.requireLackOfExchange(answer)
            return nil
        }
        guard root.rename(item, to: reserved.place) == 0 else {
            root.state.trash.release(reserved)
            try check(root.exchange(item, with: location), "renameat2")
            return nil
        }
        return reserved.record
    }

    private func makeParents(of path: SharePath) throws(RootError) {
        var missing: [SharePath] = []
        var parent = path.parent
        while !parent.isRoot {
            do throws(RootError) {
                guard try look(at: absolute(parent), waiting: true).status.isDirectory else { throw .parentMissing }
                break
            } catch .notFound {
                missing.append(parent)
                parent = parent.parent
            }
        }
        for folder in missing.reversed() {
            do throws(RootError) {
                try createDirectory(at: folder)
            } catch .exists {
                continue
            }
        }
    }

    /// Whether this requester could see the item where it was.
    private func mayReach(_ record: TrashRecord) -> Bool {
        base.contains(record.path) && root.shows(record.path) && granted(at: record.path).contains(.read)
    }

    private func seen(_ item: (record: TrashRecord, status: sys_attributes)) -> TrashItem {
        TrashItem(
            id: item.record.id, path: item.record.path.relative(to: base) ?? .root, deleted: item.record.deleted,
            user: item.record.user, isDirectory: item.status.isDirectory,
            size: Int64(clamping: item.status.size), expires: root.state.trash.expires(item.record))
    }
}
