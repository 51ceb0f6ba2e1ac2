import CSyscalls

/// Keeping what something else is about to replace.
extension Trash {
    /// Moves what is about to be replaced into the trash: if the process is killed before the replacement is in place,
    /// it gets its name back before the next write.
    ///
    /// The spare disk space is not used for this: uploads to a full disk would use up what is reserved for deletions.
    /// - Parameters:
    ///   - location: the place of what is replaced.
    ///   - user: who replaces it; nil when the requester gave no name.
    ///   - root: whose trash this is.
    /// - Returns: what the trash has now; nothing when it is on another file system.
    /// - Throws: what prevents the rename.
    func takeReplaced(
        _ location: borrowing Location, user: String?, of root: DirectoryRoot
    ) throws(RootError) -> Kept {
        var journal: RenameJournal?
        do throws(RootError) {
            let record = try move(location, user: user) { journal = RenameJournal($0, in: root) }
            if let record { return .moved(record, journal) }
        } catch {
            journal?.end()
            throw error
        }
        journal?.end()
        return .nothing
    }

    /// Gives a file that is about to be replaced a second name in the trash; it keeps its own until then.
    /// - Returns: the item's record; nil when it can't have a second name there, for whatever reason: the caller then
    ///   moves it away first, and gets the error if that fails too.
    func keep(_ location: borrowing Location, user: String?) -> TrashRecord? {
        let kept = try? add(location, user: user) { (directory, id) in
            unsafe location.withName {
                unsafe sys_linkat(location.directory.number, $0, directory, id + Self.item)
            }
        }
        return kept.flatMap { $0 }
    }

    /// What the trash holds of something that is about to be replaced.
    enum Kept {
        case nothing
        /// It has its own name too.
        case linked(TrashRecord)
        /// It exists only in the trash; with a note about that while its own name is free, until something takes its
        /// place.
        case moved(TrashRecord, RenameJournal? = nil)

        /// Whether its own name is free.
        var isMoved: Bool {
            if case .moved = self { return true }
            return false
        }

        var isNothing: Bool {
            if case .nothing = self { return true }
            return false
        }

        /// Ends the note: something has taken its place.
        func end() {
            if case .moved(_, let journal?) = self { journal.end() }
        }
    }

    /// Undoes what was done for a write that failed.
    ///
    /// What can't get its name back stays in the trash, where people find it.
    func giveBack(_ kept: Kept, to location: borrowing Location, of root: DirectoryRoot) {
        guard let trash = try? state.subfolder(Self.folder, creating: false) else { return }
        let record: TrashRecord
        let answer: Int32
        switch kept {
        case .nothing: return
        case .linked(let item):
            record = item
            // If the names have changed places, and could not be changed back, this one may be its only one.
            guard isAlso(at: location, item, trash.number) else { return }
            answer = unsafe sys_unlinkat(trash.number, item.id + Self.item, 0)
        case .moved(let item, _):
            record = item
            answer = unsafe (item.id + Self.item).withCString {
                unsafe root.renameToFreeName(trash.number, $0, location)
            }
        }
        guard answer == 0 else { return }
        // It is back, and a record without an item is ignored.
        _ = unsafe sys_unlinkat(trash.number, record.id + Self.record, 0)
        kept.end()
    }

    /// Whether an item of the trash has its own name, too.
    private func isAlso(at location: borrowing Location, _ record: TrashRecord, _ trash: Int32) -> Bool {
        var (there, item) = (sys_attributes(), sys_attributes())
        let found = unsafe location.withName { unsafe sys_statat(location.directory.number, $0, &there) }
        let kept = unsafe sys_statat(trash, record.id + Self.item, &item)
        return found == 0 && kept == 0 && there.isSame(as: item)
    }

    /// Undoes a completed replacement: what was kept has its name again, and what took its place is hidden.
    /// - Parameters:
    ///   - kept: what was replaced.
    ///   - location: where it was.
    ///   - place: where the replacement is to be moved; free.
    ///   - root: whose trash this is.
    /// - Returns: false when nothing was kept, or the two can't be exchanged; then nothing has changed.
    /// - Throws: what the disk reports.
    func exchangeBack(
        _ kept: Kept, with location: borrowing Location, to place: ScratchPlace, of root: DirectoryRoot
    ) throws(RootError) -> Bool {
        let record: TrashRecord
        switch kept {
        case .nothing: return false
        case .linked(let item): record = item
        case .moved(let item, _): record = item
        }
        let item = try self.place(of: record.id)
        guard root.exchange(item, with: location) == 0 else {
            guard case .linked = kept, root.rename(item, to: try location.place()) == 0 else { return false }
            // One rename suffices here too: both are files.
            try? forget(record.id)
            return true
        }
        kept.end()
        // If it can't be moved out of the trash, people find it there.
        if root.rename(item, to: place) == 0 { try? forget(record.id) }
        return true
    }

    /// A place for something that is about to be replaced: its record exists already, and makes whatever is put there
    /// an item.
    struct Reserved {
        let record: TrashRecord
        let place: ScratchPlace
    }

    /// Reserves a place for what is at `location`.
    /// - Parameters:
    ///   - location: the place of what is replaced.
    ///   - user: who replaces it; nil when the requester gave no name.
    /// - Returns: where to move it; nil when it is on another file system than the trash.
    /// - Throws: what the disk reports.
    func reserve(_ location: borrowing Location, user: String?) throws(RootError) -> Reserved? {
        guard let trash = try state.subfolder(Self.folder, creating: true), location.status?.device == trash.device
        else { return nil }
        let record = try newRecord(of: location, user: user, in: trash)
        return Reserved(record: record, place: try place(of: record.id))
    }

    /// Gives up a place that was not used; if its record stays, it is ignored.
    func release(_ reserved: Reserved) {
        let directory = reserved.place.directory.number
        _ = unsafe sys_unlinkat(directory, reserved.record.id + Self.record, 0)
    }
}
