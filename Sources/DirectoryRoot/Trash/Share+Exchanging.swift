import CSyscalls

/// Replacing what goes to the trash and can't have a second name there, a folder above all, so that its own name is
/// never empty. All of it under the commit lock.
extension Share {
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
        guard root.exchange(reserved.place, with: location) == 0 else {
            try check(root.rename(reserved.place, to: place), "renameat")
            root.state.trash.release(reserved)
            return nil
        }
        return .only(reserved.record)
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
        guard let journal = MoveJournal(from: from, to: to, in: root, item: reserved.record.id) else {
            root.state.trash.release(reserved)
            return nil
        }
        guard root.exchange(source, with: to) == 0 else {
            journal.end()
            root.state.trash.release(reserved)
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
        return .only(reserved.record)
    }

    private func reserveInTrash(_ location: borrowing Location) throws(RootError) -> Trash.Reserved? {
        guard root.policy.trashDays > 0, root.abilities.renameFlags, let status = location.status, !status.isFile
        else { return nil }
        return try root.state.trash.reserve(location, user: user)
    }
}
