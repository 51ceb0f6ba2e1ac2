import CSyscalls

/// Replacing something that goes to the trash and can't have a second name there (as no folder can), so that its own
/// name is never free. All of it is done under the commit lock.
extension Share {
    /// Puts a finished file in the place of something that goes to the trash, so that the name is never free.
    /// - Parameters:
    ///   - file: with all its bytes.
    ///   - location: the place of what is replaced.
    /// - Returns: what the trash has now; nil when nothing is to be kept, or it can only be kept by moving it away
    ///   first: then nothing has changed.
    /// - Throws: what the disk reports.
    func replaceThroughTrash(
        _ file: TemporaryFile, at location: borrowing Location
    ) throws(RootError) -> Trash.Kept? {
        guard root.policy.trashDays > 0, let old = location.status else { return nil }
        // A second name may be refused by the disk, or by Linux for a file of another owner: then it takes two steps.
        if old.isFile, let record = root.state.trash.keep(location, user: user) {
            do throws(RootError) {
                try file.place(at: location, of: root)
            } catch {
                root.state.trash.giveBack(.linked(record), to: location, of: root)
                throw error
            }
            return .linked(record)
        }
        let place = try file.nameInScratch(near: location.directory, of: root)
        guard let kept = try exchangeThroughTrash(place, with: location) else { return nil }
        file.giveUpName()
        return kept
    }

    /// Puts a hidden tree or file in the place of something that goes to the trash.
    ///
    /// It is first moved into the trash under the name that the old thing will have there, and then the two are
    /// exchanged: a kill in between leaves the old thing in its place, and a copy in the trash.
    /// - Parameters:
    ///   - place: where it is.
    ///   - location: where it is to be.
    /// - Returns: what the trash has now; nil when nothing is to be kept, or such an exchange is not supported: then
    ///   nothing has changed.
    /// - Throws: what the disk reports.
    func exchangeThroughTrash(
        _ place: ScratchPlace, with location: borrowing Location
    ) throws(RootError) -> Trash.Kept? {
        guard let reserved = try reserveInTrash(location) else { return nil }
        guard root.rename(place, to: reserved.place) == 0 else {
            root.state.trash.release(reserved)
            return nil
        }
        let answer = root.exchange(reserved.place, with: location)
        guard answer == 0 else {
            try check(root.rename(reserved.place, to: place), "renameat")
            root.state.trash.release(reserved)
            try Self.requireLackOfExchange(answer)
            return nil
        }
        return .moved(reserved.record)
    }

    /// Moves what is at one place over something that goes to the trash.
    ///
    /// The two are exchanged, and what was replaced is then moved to the trash: a kill in between is repaired before
    /// the next write.
    /// - Returns: as ``exchangeThroughTrash(_:with:)``.
    /// - Throws: what the disk reports.
    func exchangeAndKeep(
        _ from: borrowing Location, with to: borrowing Location
    ) throws(RootError) -> Trash.Kept? {
        guard let reserved = try reserveInTrash(to) else { return nil }
        let source = try from.place()
        guard let note = MoveNote(from: from, to: to, item: reserved.record.id),
            let journal = RenameJournal(note, in: root)
        else {
            root.state.trash.release(reserved)
            return nil
        }
        let answer = root.exchange(source, with: to)
        guard answer == 0 else {
            journal.end()
            root.state.trash.release(reserved)
            try Self.requireLackOfExchange(answer)
            return nil
        }
        guard root.rename(source, to: reserved.place) == 0 else {
            // Puts everything back; if that fails too, the note tells the next write.
            try check(root.exchange(source, with: to), "renameat2")
            journal.end()
            root.state.trash.release(reserved)
            return nil
        }
        journal.end()
        return .moved(reserved.record)
    }

    /// Permits going on in two steps only if the file system can't exchange two names: after any other error, the
    /// second step might fail too, and leave the name free.
    /// - Throws: any other error.
    static func requireLackOfExchange(_ answer: Int32) throws(RootError) {
        guard [EINVAL, ENOSYS, ENOTSUP, EXDEV].contains(-answer) else { throw RootError(answer, "renameat2") }
    }

    private func reserveInTrash(_ location: borrowing Location) throws(RootError) -> Trash.Reserved? {
        guard root.policy.trashDays > 0, root.abilities.renameFlags, location.status != nil
        else { return nil }
        return try root.state.trash.reserve(location, user: user)
    }
}
