import CSyscalls
import Synchronization

/// What was deleted or replaced and can still be restored.
///
/// An item is `.shareserve/trash/<id>.item`, with its description in `<id>.record`. Moving something there is one
/// rename; the record is written first, and is ignored without an item.
package final class Trash: Sendable {
    static let folder = "trash"
    /// The suffix of an item's name, after its id.
    static let item = ".item"
    /// The suffix of its record's name.
    static let record = ".record"
    /// Far more than any record has.
    private static let mostRecordBytes: UInt64 = 1 << 20
    /// The suffix of an item's name while it is being removed for good.
    static let doomed = ".doomed"
    /// How long deletions on the page can be undone when nothing else is kept.
    static let undo: Duration = .seconds(60)

    let state: StateFolder
    let clock: RootClock
    let keeps: Duration
    let properties: PropertyStore
    /// Both clocks as they stood at the last purge.
    let lastPurge = Mutex<(wall: Timestamp, elapsed: Duration)?>(nil)

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
    ///   - time: how long it is kept, if that is longer than all is.
    /// - Returns: the item's record; nil when it is on another file system than the trash, and stays where it is.
    /// - Throws: what prevents the rename.
    func take(
        _ location: borrowing Location, user: String?, for time: Duration = .zero
    ) throws(RootError) -> TrashRecord? {
        try state.usingSpareRoom { () throws(RootError) in try move(location, user: user, for: time) }
    }

    /// The same without the spare room; `note` is called before the rename is made.
    func move(
        _ location: borrowing Location, user: String?, for time: Duration = .zero,
        _ note: (TakenNote) -> Void = { _ in }
    ) throws(RootError) -> TrashRecord? {
        try add(location, user: user, for: time) { (directory, id) in
            note(TakenNote(location, item: id))
            return unsafe location.withName {
                unsafe sys_renameat(location.directory.number, $0, directory, id + Self.item)
            }
        }
    }

    /// Writes the record of an item that is to be added.
    func newRecord(
        of location: borrowing Location, user: String?, for time: Duration = .zero, in trash: IdentifiedDescriptor
    ) throws(RootError) -> TrashRecord {
        let now = clock.wall()
        let record = TrashRecord(
            id: StateFile.randomName(), path: location.path, deleted: now,
            expires: now.advanced(by: max(keeps, time)), user: user)
        let bytes = StateEnvelope(generation: 1, payload: record.payload).encoded()
        _ = try StateFile.create(
            record.id + Self.record, in: trash, bytes, generation: 1, waitsForDisk: state.waitsForDisk)
        return record
    }

    /// Adds an item, by a call that gets the trash's directory and the item's id.
    /// - Returns: the item's record; nil when it is on another file system.
    /// - Throws: what the call or the disk reports.
    func add(
        _ location: borrowing Location, user: String?, for time: Duration = .zero, _ call: (Int32, String) -> Int32
    ) throws(RootError) -> TrashRecord? {
        guard let trash = try state.subfolder(Self.folder, creating: true) else { return nil }
        guard location.status?.device == trash.device else { return nil }
        let record = try newRecord(of: location, user: user, for: time, in: trash)
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

    /// When an item expires: as it was promised, or later if things are kept for longer now.
    ///
    /// Starting the server once without `--trash` must not lose what is there.
    func expires(_ record: TrashRecord) -> Timestamp {
        let promised = record.expires ?? record.deleted.advanced(by: .seconds(86_400))
        return max(promised, record.deleted.advanced(by: keeps))
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
    func read(_ id: String, in trash: IdentifiedDescriptor) throws(RootError) -> TrashRecord? {
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
