import Synchronization

/// Keeping things for as long as was promised though the machine's clock is set meanwhile.
extension Trash {
    /// By less than this, a clock is not set but drifts.
    private static let drift: Duration = .seconds(60)

    /// Lets what was deleted by a clock that was set since the last purge keep the time that it had left.
    ///
    /// A machine whose clock has no battery begins in the past: all that is deleted before it knows the time would be
    /// over as soon as it does. And one that was in the future for a minute would lose everything.
    /// - Parameters:
    ///   - now: the time of day.
    ///   - trash: the folder of all items; nil when there is none yet.
    /// - Throws: what the disk reports; the next purge has another try.
    func followClock(to now: Timestamp, in trash: IdentifiedDescriptor?) throws(RootError) {
        let elapsed = clock.elapsed()
        if let trash, let last = lastPurge.withLock({ $0 }) {
            // What the old clock would say now.
            let old = last.wall.advanced(by: elapsed - last.elapsed)
            let jump = now.since(old)
            // Set forward, and not by the old clock: it knew the time before it was wrong. Set back, only what is
            // deleted later than now is surely by the old clock.
            if jump > Self.drift {
                try postpone(by: jump, in: trash) { $0 <= old }
            } else if jump < .zero - Self.drift {
                try postpone(by: jump, in: trash) { $0 > now }
            }
        }
        lastPurge.withLock { $0 = (now, elapsed) }
    }

    private func postpone(
        by jump: Duration, in trash: IdentifiedDescriptor, _ isAffected: (_ deleted: Timestamp) -> Bool
    ) throws(RootError) {
        for name in try StateFolder.names(in: trash) where name.hasSuffix(Self.record) {
            let id = String(name.dropLast(Self.record.count))
            do throws(RootError) {
                guard var record = try read(id, in: trash), isAffected(record.deleted) else { continue }
                record.deleted = record.deleted.advanced(by: jump)
                record.expires = record.expires?.advanced(by: jump)
                let changed = record
                try state.usingSpareRoom { () throws(RootError) in try replace(changed, in: trash) }
            } catch  where error.isDamage {
                // What is not ours stays as it is.
                continue
            }
        }
    }

    private func replace(_ record: TrashRecord, in trash: IdentifiedDescriptor) throws(RootError) {
        // What stays after a crash is a record without an item: it is ignored, and goes with the next that are over.
        try StateFile.put(
            StateEnvelope(generation: 1, payload: record.payload).encoded(), as: record.id + Self.record,
            by: StateFile.randomName() + Self.record, in: trash, waitsForDisk: state.waitsForDisk)
    }
}
