import CSyscalls

/// Replacing what goes to the trash, which may have no second name there, as no folder has, so that its own name is
/// never empty. All of it under the commit lock.
extension Share {
    /// Puts a finished file where something is that goes to the trash, whose name is never empty.
    /// - Parameters:
    ///   - file: with all its bytes.
    ///   - location: where something is.
    /// - Returns: what the trash has now; nil where nothing is to be kept, or only by taking it away first: then
    ///   nothing has happened.
    /// - Throws: what the disk says.
    func replaceThroughTrash(
        _ file: TemporaryFile, at location: borrowing Location
    ) throws(RootError) -> Trash.Kept? {
        guard root.policy.trashDays > 0, let old = location.status else { return nil }
        // Where the file's owner or its disk allows no second name, as Linux does for a stranger's, it takes two steps.
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

    /// Puts a tree or file without a name of its own where something is that goes to the trash.
    ///
    /// It waits in the trash under the name that the other will have there, and the two change places: a kill in
    /// between leaves the old thing in its place, and a copy in the trash.
    /// - Parameters:
    ///   - place: where it stands.
    ///   - location: where it shall be.
    /// - Returns: what the trash has now; nil where nothing is to be kept or there is no such exchange: then nothing
    ///   has happened.
    /// - Throws: what the disk says.
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

    /// Puts what is at one place where something is that goes to the trash.
    ///
    /// The two change places, and what was replaced goes on to the trash: a kill in between is made good before the
    /// next write.
    /// - Returns: as ``exchangeThroughTrash(_:with:)``.
    /// - Throws: what the disk says.
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
            // All as it was; if that can't be either, the note tells the next write.
            try check(root.exchange(source, with: to), "renameat2")
            journal.end()
            root.state.trash.release(reserved)
            return nil
        }
        journal.end()
        return .moved(reserved.record)
    }

    /// Lets go on in two steps only where the two could not change places in one: the second step may fail as the one
    /// did, and then the name would be empty.
    /// - Throws: whatever else was in the way.
    static func requireLackOfExchange(_ answer: Int32) throws(RootError) {
        guard [EINVAL, ENOSYS, ENOTSUP, EXDEV].contains(-answer) else { throw RootError(answer, "renameat2") }
    }

    private func reserveInTrash(_ location: borrowing Location) throws(RootError) -> Trash.Reserved? {
        guard root.policy.trashDays > 0, root.abilities.renameFlags, location.status != nil
        else { return nil }
        return try root.state.trash.reserve(location, user: user)
    }
}
