import CSyscalls

extension Share {
    /// The most walks over a folder whose names keep changing.
    private static let mostWalks = 4

    /// Builds a folder out of sight and swaps it in.
    func copyTree(
        _ origin: borrowing Visible, near location: borrowing Location, _ request: CopyRequest, recursive: Bool
    ) throws(RootError) -> TransferResult {
        let place = try root.scratch.place(near: location.directory, isNew: true)
        // In a move, nobody else gets access before all members have the source's own bits, the folder itself last.
        let status = try origin.descriptor.status()
        let permissions: UInt32 = request.isMove ? 0o700 : status.mode & 0o777 | 0o700
        // So that the leftover of a killed process is removed when leftovers are next looked for, and does not take
        // space for a day.
        let path = location.path
        let note = try root.commitLock.withLock { () throws(RootError) in
            RemovalNote(unfinished: place, to: path, in: root)
        }
        let made = unsafe place.withName { unsafe sys_mkdirat(place.directory.number, $0, permissions) }
        if made < 0 { note?.end() }
        try check(made, "mkdirat")
        var copy = BuiltTree(place: place, note: note)
        // Also when a step after the swap fails.
        defer { removeRemains(of: copy) }
        let top = try Descriptor(place.open(O_RDONLY | O_DIRECTORY | O_NOFOLLOW), "openat")
        ScratchFolder.markInUse(top.number)
        let fingerprint = request.isMove ? try TreeFingerprint(of: origin.descriptor.number) : nil
        let failures = try copyMembers(
            of: origin, to: top.number, at: location.path, isMove: request.isMove, recursive: recursive)
        if !failures.isEmpty, request.isMove || location.status != nil {
            return TransferResult(created: false, failures: failures)
        }
        if root.policy.waitsForDisk { try WriteBack.waitForNames(in: top.number) }
        // The source will be removed: its whole copy must be on the disk before that.
        if request.isMove { try check(sys_sync_all(top.number), "syncfs") }
        // A later write to the source is found when the source is hidden.
        if let fingerprint, try TreeFingerprint(of: origin.descriptor.number) != fingerprint { throw .changedMeanwhile }
        copy.isWhole = failures.isEmpty
        let created = try root.commitLock.withLock { () throws(RootError) in
            try placeTree(&copy, top.number, request, status, fingerprint)
        }
        return TransferResult(created: created ?? false, failures: failures)
    }

    /// Removes what a copied folder leaves out of sight: the copy if it got no name, and what it replaced.
    private func removeRemains(of copy: BuiltTree) {
        var isCleared = true
        if let replaced = copy.replaced { isCleared = discard(replaced) }
        if isCleared { copy.going?.end() }
        if !copy.isPlaced { isCleared = discard(copy.place, isOurs: true) }
        // If something could not be removed now, its note stays, and it is tried again.
        if isCleared, copy.arrival == nil { copy.note?.end() }
    }

    /// Gives a copied folder its name, under the commit lock.
    /// - Parameters:
    ///   - copy: the folder; updated with what became of it.
    ///   - top: the open folder itself.
    ///   - request: what is copied to where.
    ///   - status: of the source.
    ///   - fingerprint: of the source of a move, as it was when the copy began.
    /// - Returns: whether the name is new; nil when something has appeared there that an incomplete copy must not
    ///   replace.
    /// - Throws: what forbids it, or what the disk reports.
    private func placeTree(
        _ copy: inout BuiltTree, _ top: Int32, _ request: CopyRequest, _ status: sys_attributes,
        _ fingerprint: TreeFingerprint?
    ) throws(RootError) -> Bool? {
        var location = try locateTarget(request.target, followsLink: false)
        let departure = try requireUnchanged(request, status, fingerprint)
        try requireCopyTarget(location, request, status)
        let created = location.status == nil
        guard copy.isWhole || created else { return nil }
        // Before the replacement: if the source can't be removed, what was replaced would be lost.
        if !created { try departure?.rehearse() }
        var kept = Trash.Kept.nothing
        defer {
            if copy.isPlaced {
                kept.end()
                if !created { didRemove(location.path, nil) }
            } else {
                root.state.trash.giveBack(kept, to: location, of: root)
            }
        }
        try show(&copy, at: &location, &kept)
        do throws(RootError) {
            if request.isDurable(root) {
                try syncDirectory(of: location, kept, having: top, atOnce: true)
            }
            if let departure { try takeAway(departure, request, of: &copy, top, at: location) }
        } catch {
            // If the source can't be removed, or was written to until now, it stays, and its copy is taken back.
            if departure?.isHere == true { try takeBackTree(&copy, from: &location, &kept, wasFree: created) }
            throw error
        }
        return created
    }

    /// Gives a copied folder its name, and moves what has that name into the trash or out of sight.
    private func show(
        _ copy: inout BuiltTree, at location: inout Location, _ kept: inout Trash.Kept
    ) throws(RootError) {
        if let exchanged = try exchangeThroughTrash(copy.place, with: location) {
            kept = exchanged
        } else {
            kept = try keepInTrash(location)
            if kept.isMoved { try location.refresh() }
            if location.status == nil {
                try root.renameToFreeName(copy.place, location)
            } else {
                try swap(copy.place, with: location)
                copy.replaced = copy.place
            }
        }
        copy.isPlaced = true
    }

    /// Removes the source of a move whose copy has its name.
    private func takeAway(
        _ departure: Departure, _ request: CopyRequest, of copy: inout BuiltTree, _ top: Int32,
        at location: borrowing Location
    ) throws(RootError) {
        if WriteBack.mayLackNames(at: top) {
            copy.arrival = noteArrival(from: copy.place, at: location.path, copy.note)
        }
        try request.takingAway?(departure, location.path)
        // The place that the note names must be free, or hold a copy that lost its name in a power cut, nothing else.
        if copy.arrival != nil, let old = copy.replaced {
            (copy.replaced, copy.going) = makeRoom(at: old, near: location)
        }
    }

    /// Undoes ``show(_:at:_:)``.
    /// - Throws: no error that would mean that everything is as before, since it is not.
    private func takeBackTree(
        _ copy: inout BuiltTree, from location: inout Location, _ kept: inout Trash.Kept, wasFree: Bool
    ) throws(RootError) {
        let wasSwapped = copy.replaced != nil
        // What can't be put back must not be removed now.
        copy.replaced = nil
        try takeBack(copy.place, from: &location, &kept, wasSwapped: wasSwapped, wasFree: wasFree)
        copy.isPlaced = false
        copy.arrival?.end()
        copy.arrival = nil
    }

    /// Notes, before the source of a move is removed, that its copy has its name: a power cut may undo that rename, and
    /// then the copy, out of sight again, is all that is left.
    /// - Parameters:
    ///   - place: where the copy was built.
    ///   - path: where the copy is now.
    ///   - note: of the unfinished copy.
    /// - Returns: the note; nil when none can be kept, as on a full disk, which the move may be meant to relieve.
    private func noteArrival(from place: ScratchPlace, at path: SharePath, _ note: RemovalNote?) -> RemovalNote? {
        if let note, note.arrive(at: path) { return note }
        note?.end()
        return RemovalNote(arrivedFrom: place, at: path, in: root)
    }

    /// Moves what is to be removed to another place out of sight.
    /// - Returns: where it is now, and the note that it is to be removed.
    private func makeRoom(
        at place: ScratchPlace, near location: borrowing Location
    ) -> (ScratchPlace, RemovalNote?) {
        guard let other = try? root.scratch.place(near: location.directory) else { return (place, nil) }
        let note = RemovalNote(unfinished: other, to: location.path, in: root)
        if root.rename(place, to: other) == 0 { return (other, note) }
        note?.end()
        return (place, nil)
    }

    /// Copies the members of a folder and, when names in it changed meanwhile, goes over it again for what was renamed.
    ///
    /// A file that is renamed while its folder is being read may be read under neither name. A move needs one walk
    /// only: it removes nothing that changed, and starts over.
    /// - Returns: the members that could not be copied. When names keep changing, these include members that were never
    ///   met where they had just been, and one that changed until the end.
    private func copyMembers(
        of origin: borrowing Visible, to top: Int32, at target: SharePath, isMove: Bool, recursive: Bool
    ) throws(RootError) -> [MemberFailure] {
        let source = origin.descriptor.number
        let isWatched = recursive && !isMove
        // When the tree can't be fingerprinted, it is gone over again too.
        var names = isWatched ? try? TreeFingerprint(of: source, scope: .names) : nil
        var debts = CopyDebts()
        var failures: [MemberFailure] = []
        for walk in 1...Self.mostWalks {
            if walk > 1 { debts.beginPass() }
            var copy = TreeCopy(share: self, source: origin.realPath, target: target, isMove: isMove, debts: debts)
            failures = try copy.run(from: source, to: top, recursive: recursive)
            guard isWatched else { return failures }
            let now = try? TreeFingerprint(of: source, scope: .names)
            if let now, now == names { return failures }
            names = now
            debts = copy.debts
        }
        for path in debts.missing.values { failures.append(MemberFailure(path: shown(path), error: .notFound)) }
        if let path = debts.replaced { failures.append(MemberFailure(path: shown(path), error: .changedMeanwhile)) }
        return failures
    }

    private func shown(_ path: SharePath) -> SharePath { path.relative(to: base) ?? .root }

    /// Moves a copy out of sight again, to `place`, and puts back what it replaced.
    /// - Throws: no error that would mean that everything is as before, since it is not.
    func takeBack(
        _ place: ScratchPlace, from location: inout Location, _ kept: inout Trash.Kept, wasSwapped: Bool, wasFree: Bool
    ) throws(RootError) {
        var answer: Int32 = 0
        do throws(RootError) {
            try location.refresh()
            if wasSwapped {
                answer = root.swap(place, with: location)
            } else if try root.state.trash.exchangeBack(kept, with: location, to: place, of: root) {
                kept = .nothing
            } else if wasFree || kept.isMoved {
                answer = root.rename(try location.place(), to: place)
            } else {
                // What it replaced is gone: the copy is all that is left under the name.
                answer = -EBUSY
            }
        } catch {
            answer = -EIO
        }
        guard answer == 0 else {
            // Otherwise what was replaced would stay out of sight, and be removed as a leftover.
            if wasSwapped { _ = try? root.nameAgain(place, location.path) }
            throw .system(errno: -answer, call: "take back a copy")
        }
    }
}

/// The copy of a folder, from when it is built out of sight until it has its name.
private struct BuiltTree {
    /// Where it is built; after the swap, where what it replaced stands.
    let place: ScratchPlace
    /// Says that the copy is of no use until it has its name.
    let note: RemovalNote?
    /// Whether no member is missing.
    var isWhole = false
    /// Whether it has its name.
    var isPlaced = false
    /// Says that the copy has its name, which a power cut may undo; ``note`` itself, or another in its place.
    var arrival: RemovalNote?
    /// Where what it replaced stands, to be removed.
    var replaced: ScratchPlace?
    /// Says that ``replaced`` is to be removed.
    var going: RemovalNote?

    init(place: ScratchPlace, note: RemovalNote?) {
        self.place = place
        self.note = note
    }
}
