import CSyscalls

/// Removing for good.
extension Trash {
    /// Hides an item that is to be removed for good: nobody can restore it while it is being removed.
    ///
    /// Called under the commit lock; ``removeCondemned(_:)`` does the rest.
    func condemn(_ id: String) throws(RootError) {
        guard let trash = try state.subfolder(Self.folder, creating: false) else { return }
        // The new name may take another block of the folder.
        try state.usingSpareRoom { () throws(RootError) in
            let hidden = unsafe sys_renameat(trash.number, id + Self.item, trash.number, id + Self.doomed)
            if hidden != -ENOENT { try checkState(hidden, "renameat in the trash", id + Self.item) }
        }
    }

    /// Removes for good what ``condemn(_:)`` has hidden.
    /// - Throws: the error of the first thing that could not be removed; the item is in the trash again then.
    func removeCondemned(_ id: String) throws(RootError) {
        guard let trash = try state.subfolder(Self.folder, creating: false) else { return }
        // Stored properties that remain are distinguished from those of a later file by its birth time.
        let forgetting = try? properties.forgetting()
        let failures = TreeRemoval.remove(Array((id + Self.doomed).utf8), in: trash.number, forget: forgetting)
        if let failure = failures.first {
            // If that fails too, the next purge continues with it.
            _ = unsafe sys_renameat(trash.number, id + Self.doomed, trash.number, id + Self.item)
            throw failure.error
        }
        try forget(id)
    }

    /// Removes items that have expired, and records without an item.
    ///
    /// Called at the start, and every minute.
    /// - Parameter lock: the lock under which names change.
    /// - Throws: what the disk reports for the first record that could not be read, after all others are done; what it
    ///   reports where the clock was set and an item could not be told, before any is removed.
    func purge(under lock: CommitLock) throws(RootError) {
        guard !state.isReadOnly else { return }
        let now = clock.wall()
        let folder = try state.subfolder(Self.folder, creating: false)
        try followClock(to: now, in: folder)
        guard let trash = folder else { return }
        var attempts = Attempts()
        var isHeld = false
        for name in try StateFolder.names(in: trash) where !isHeld {
            attempts.run { () throws(RootError) in
                do throws(RootError) {
                    try tidy(name, in: trash, now, under: lock)
                } catch  where error.isDamage {
                    // What is not ours stays, and so does the item that it seems to describe.
                } catch .busy {
                    // Another process is changing names: try again in a minute.
                    isHeld = true
                }
            }
        }
        try attempts.finish()
    }

    private func tidy(
        _ name: String, in trash: IdentifiedDescriptor, _ now: Timestamp, under lock: CommitLock
    ) throws(RootError) {
        let id = String(name.prefix { $0 != "." })
        if name.hasSuffix(Self.doomed) {
            // Left by a killed process; if another process is still working on it, this only helps.
            _ = try? removeCondemned(id)
            return
        }
        let isOver =
            if let record = try read(id, in: trash) {
                name.hasSuffix(Self.record) && expires(record) <= now
            } else {
                isNamelessOver(name, in: trash, now)
            }
        guard isOver else { return }
        // If it can't be removed, it is tried again later. An expired item can't be restored, so it need not be checked
        // again.
        do throws(RootError) {
            try lock.withLock(patience: .zero) { () throws(RootError) in try condemn(id) }
            try removeCondemned(id)
        } catch {
            if error == .busy { throw error }
        }
    }

    /// An item whose record is lost or damaged is kept as long as any other, counted from its last change; so is a
    /// damaged record.
    private func isNamelessOver(_ name: String, in trash: IdentifiedDescriptor, _ now: Timestamp) -> Bool {
        var status = sys_attributes()
        guard name.hasSuffix(Self.item) || name.hasSuffix(Self.record),
            unsafe sys_statat(trash.number, name, &status) == 0
        else { return false }
        return Timestamp(seconds: status.changed).advanced(by: max(keeps, .seconds(86_400))) <= now
    }
}
