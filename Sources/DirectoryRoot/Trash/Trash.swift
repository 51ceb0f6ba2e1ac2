import CSyscalls

/// What was deleted or replaced and can still be restored.
///
/// An item is `.shareserve/trash/<id>.item`, with its description in `<id>.record`. Moving something there is one
/// rename; the record is written first, and is ignored without an item.
package final class Trash: Sendable {
    private static let folder = "trash"
    /// The suffix of an item's name, after its id.
    private static let item = ".item"
    /// The suffix of its record's name.
    private static let record = ".record"
    /// Far more than any record has.
    private static let mostRecordBytes: UInt64 = 1 << 20
    /// The suffix of an item's name while it is being removed for good.
    private static let doomed = ".doomed"
    /// How long deletions on the page can be undone when nothing else is kept.
    static let undo: Duration = .seconds(60)

    private let state: StateFolder
    private let clock: RootClock
    private let keeps: Duration
    private let properties: PropertyStore

    init(state: StateFolder, properties: PropertyStore, policy: RootPolicy, clock: RootClock) {
        self.state = state
        self.clock = clock
        self.properties = properties
        keeps = policy.trashDays > 0 ? .seconds(86_400) * min(policy.trashDays, 36_500) : Self.undo
    }

    /// Moves what is at a place into the trash.
    /// - Parameters:
    ///   - location: the place of what is deleted.
    ///   - user: who deletes it; nil when the requester gave no name.
    /// - Returns: the item's record; nil when it is on another file system than the trash, and stays where it is.
    /// - Throws: what prevents the rename.
    func take(_ location: borrowing Location, user: String?) throws(RootError) -> TrashRecord? {
        try state.usingSpareRoom { () throws(RootError) in try move(location, user: user) }
    }

    /// The same for what is about to be replaced: if the process is killed before the replacement is in place, it gets
    /// its name back before the next write.
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

    /// Calls `note` before the rename is made.
    private func move(
        _ location: borrowing Location, user: String?, _ note: (TakenNote) -> Void = { _ in }
    ) throws(RootError) -> TrashRecord? {
        try add(location, user: user) { (directory, id) in
            note(TakenNote(location, item: id))
            return unsafe location.withName {
                unsafe sys_renameat(location.directory.number, $0, directory, id + Self.item)
            }
        }
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

    private func newRecord(
        of location: borrowing Location, user: String?, in trash: IdentifiedDescriptor
    ) throws(RootError) -> TrashRecord {
        let now = clock.wall()
        let record = TrashRecord(
            id: StateFile.randomName(), path: location.path, deleted: now, expires: now.advanced(by: keeps), user: user)
        let bytes = StateEnvelope(generation: 1, payload: record.payload).encoded()
        _ = try StateFile.create(
            record.id + Self.record, in: trash, bytes, generation: 1, waitsForDisk: state.waitsForDisk)
        return record
    }

    private func add(
        _ location: borrowing Location, user: String?, _ call: (Int32, String) -> Int32
    ) throws(RootError) -> TrashRecord? {
        guard let trash = try state.subfolder(Self.folder, creating: true) else { return nil }
        guard location.status?.device == trash.device else { return nil }
        let record = try newRecord(of: location, user: user, in: trash)
        let answer = call(trash.number, record.id)
        if answer == 0 { return record }
        // A record without an item is ignored.
        _ = unsafe sys_unlinkat(trash.number, record.id + Self.record, 0)
        if answer == -EXDEV { return nil }
        throw RootError(answer, "renameat to the trash")
    }

    /// All items, in no order, except those that have expired, and those with something else in place of their record.
    func all() throws(RootError) -> [(record: TrashRecord, status: sys_attributes)] {
        guard let trash = try state.subfolder(Self.folder, creating: false) else { return [] }
        var items: [(TrashRecord, sys_attributes)] = []
        for name in try StateFolder.names(in: trash) where name.hasSuffix(Self.item) {
            do throws(RootError) {
                guard let item = try find(String(name.dropLast(Self.item.count)), in: trash) else { continue }
                items.append(item)
            } catch  where error.isDamage {
                continue
            }
        }
        return items
    }

    func find(_ id: String) throws(RootError) -> (record: TrashRecord, status: sys_attributes)? {
        guard let trash = try state.subfolder(Self.folder, creating: false) else { return nil }
        return try find(id, in: trash)
    }

    /// The place of an item.
    func place(of id: String) throws(RootError) -> ScratchPlace {
        guard let trash = try state.subfolder(Self.folder, creating: false) else { throw .unknownToken }
        return ScratchPlace(
            directory: SharedDescriptor(try Descriptor(sys_dup(trash.number), "dup")),
            name: Array((id + Self.item).utf8))
    }

    /// Removes the record of an item that has left the trash.
    func forget(_ id: String) throws(RootError) {
        guard let trash = try state.subfolder(Self.folder, creating: false) else { return }
        let status = unsafe sys_unlinkat(trash.number, id + Self.record, 0)
        if status != -ENOENT { try checkState(status, "unlink a trash record", id + Self.record) }
    }

    /// Waits until the names in the trash are on the disk.
    func settle() throws(RootError) {
        guard let trash = try state.subfolder(Self.folder, creating: false) else { return }
        try WriteBack.waitForNames(in: trash.number)
    }

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
    /// - Throws: what the disk reports for the first record that could not be read, after all others are done.
    func purge(under lock: CommitLock) throws(RootError) {
        guard !state.isReadOnly, let trash = try state.subfolder(Self.folder, creating: false) else { return }
        let now = clock.wall()
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

    /// When an item expires: as it was promised, or later if things are kept for longer now.
    ///
    /// Starting the server once without `--trash` must not lose what is there.
    func expires(_ record: TrashRecord) -> Timestamp {
        let promised = record.expires ?? record.deleted.advanced(by: .seconds(86_400))
        return max(promised, record.deleted.advanced(by: keeps))
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

    private func find(
        _ id: String, in trash: IdentifiedDescriptor
    ) throws(RootError) -> (record: TrashRecord, status: sys_attributes)? {
        guard id.utf8.allSatisfy({ $0 != UInt8(ascii: "/") && $0 != 0 }), let record = try read(id, in: trash) else {
            return nil
        }
        var status = sys_attributes()
        guard unsafe sys_statat(trash.number, id + Self.item, &status) == 0, expires(record) > clock.wall() else {
            return nil
        }
        return (record, status)
    }

    /// The record of an item; nil when there is none, or it is damaged.
    /// - Throws: ``RootError/damaged(_:)`` when something else has its name; what the disk reports.
    private func read(_ id: String, in trash: IdentifiedDescriptor) throws(RootError) -> TrashRecord? {
        let bytes: [UInt8]
        do throws(RootError) {
            guard let found = try StateFile.bytes(of: id + Self.record, in: trash, upTo: Self.mostRecordBytes) else {
                return nil
            }
            bytes = found
        } catch  where error.isDamage {
            state.incidents.report(.damagedFile(name: id + Self.record))
            throw error
        }
        var status = sys_attributes()
        guard let envelope = try? StateEnvelope(file: bytes),
            let record = try? TrashRecord(id: id, payload: envelope.payload)
        else {
            // Left by a process that was killed before it wrote the record: the item was not moved then.
            let isUnwritten =
                unsafe bytes.allSatisfy { $0 == 0 } && sys_statat(trash.number, id + Self.item, &status) == -ENOENT
            if !isUnwritten { state.incidents.report(.damagedFile(name: id + Self.record)) }
            return nil
        }
        return record
    }
}
