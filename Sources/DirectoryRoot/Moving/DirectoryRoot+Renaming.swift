import CSyscalls

/// Renames that must not replace or must exchange, with substitutes for file systems without `renameat2`. All are
/// called under the commit lock.
extension DirectoryRoot {
    /// Moves something to a name that was free when `location` was examined.
    /// - Throws: ``RootError/exists`` when something is there now.
    func renameToFreeName(_ place: ScratchPlace, _ location: borrowing Location) throws(RootError) {
        try unsafe check(
            place.withName { name in
                unsafe renameToFreeName(place.directory.number, name, location)
            }, "renameat2")
    }

    /// The same from any name; returns a negative `errno` so that callers can recognise another file system.
    func renameToFreeName(
        _ directory: Int32, _ name: UnsafePointer<CChar>, _ location: borrowing Location
    ) -> Int32 {
        let target = location.directory.number
        return unsafe location.withName { free in
            if abilities.renameFlags {
                let answer = unsafe sys_renameat2(directory, name, target, free, sys_rename_noreplace)
                if answer != -EINVAL, answer != -ENOSYS { return answer }
            }
            // A hard link never replaces; for directories, and on file systems without links, the target has to be
            // looked at first.
            let linked = unsafe sys_linkat(directory, name, target, free)
            if linked == 0 { return unsafe sys_unlinkat(directory, name, 0) }
            if linked == -EEXIST || linked == -EXDEV || linked == -ENOSPC || linked == -EDQUOT { return linked }
            var status = sys_attributes()
            let found = unsafe sys_statat(target, free, &status)
            guard found == -ENOENT else { return found < 0 ? found : -EEXIST }
            return unsafe sys_renameat(directory, name, target, free)
        }
    }

    /// Exchanges what is at `place` with what is under the name of `location`, in one step or not at all.
    /// - Returns: 0 or a negative `errno`.
    func exchange(_ place: ScratchPlace, with location: borrowing Location) -> Int32 {
        guard abilities.renameFlags else { return -ENOSYS }
        let (directory, target) = (place.directory.number, location.directory.number)
        return unsafe place.withName { own in
            unsafe location.withName { unsafe sys_renameat2(directory, own, target, $0, sys_rename_exchange) }
        }
    }

    /// The same between two places.
    func exchange(_ place: ScratchPlace, with other: ScratchPlace) -> Int32 {
        guard abilities.renameFlags else { return -ENOSYS }
        let (directory, target) = (place.directory.number, other.directory.number)
        return unsafe place.withName { own in
            unsafe other.withName { unsafe sys_renameat2(directory, own, target, $0, sys_rename_exchange) }
        }
    }

    /// Puts what is at `place` under the name of `location`, and what was there at `place`.
    /// - Returns: 0 or a negative `errno`, so that callers can recognise another file system.
    func swap(_ place: ScratchPlace, with location: borrowing Location) -> Int32 {
        let swapped = exchange(place, with: location)
        return swapped == -EINVAL || swapped == -ENOSYS ? swapInSteps(place, with: location) : swapped
    }

    /// The same in several steps, where the file system can't exchange names: the name is free in between, for a moment
    /// or, after a kill, until the next write.
    private func swapInSteps(_ place: ScratchPlace, with location: borrowing Location) -> Int32 {
        let target = location.directory.number
        let directory = place.directory.number
        let aside = ReservedName.fresh()
        return unsafe place.withName { own in
            unsafe location.withName { name in
                var placing = sys_attributes()
                let found = unsafe sys_statat(directory, own, &placing)
                guard found >= 0 else { return found }
                let journal = AsideNote(location, aside: aside, for: placing).flatMap { RenameJournal($0, in: self) }
                let away = unsafe sys_renameat(target, name, target, aside)
                guard away >= 0 else {
                    journal?.end()
                    return away
                }
                let placed = unsafe sys_renameat(directory, own, target, name)
                let last = unsafe placed < 0 ? placed : sys_renameat(target, aside, directory, own)
                guard last < 0 else {
                    journal?.end()
                    return 0
                }
                // If either step failed, everything is put back as it was.
                let freed = unsafe placed < 0 ? 0 : sys_renameat(target, name, directory, own)
                // If the new one can't be moved back, it stays, although an error is returned; the note remains for
                // what stands aside.
                guard freed >= 0 else { return last }
                let back = unsafe sys_renameat(target, aside, target, name)
                if back >= 0 { journal?.end() }
                return back < 0 ? back : last
            }
        }
    }

    /// Hides what is at a place.
    /// - Returns: where it is now; nil when it can't be moved.
    func hide(_ place: ScratchPlace) throws(RootError) -> ScratchPlace? {
        try hiding(place).first { rename(place, to: $0) == 0 }
    }

    /// The places where something can be hidden, in the order in which to try them.
    func hiding(_ place: ScratchPlace) throws(RootError) -> [ScratchPlace] {
        let near = try Descriptor(sys_dup(place.directory.number), "dup")
        return [try scratch.place(near: near), try scratch.place(near: near, besides: true)]
    }

    /// - Returns: 0 or a negative `errno`.
    func rename(_ place: ScratchPlace, to other: ScratchPlace) -> Int32 {
        unsafe place.withName { own in
            unsafe other.withName { unsafe sys_renameat(place.directory.number, own, other.directory.number, $0) }
        }
    }

    /// The same, with a note that `noting` makes for the hidden name.
    func hide(
        _ place: ScratchPlace, noting: ([UInt8]) -> RemovalNote?
    ) throws(RootError) -> (place: ScratchPlace, note: RemovalNote?)? {
        for hidden in try hiding(place) {
            let note = noting(hidden.name)
            if rename(place, to: hidden) == 0 { return (hidden, note) }
            note?.end()
        }
        return nil
    }

    /// Whether `directory` is `ancestor` or lies below it, by identity and not by name.
    func isBelow(_ ancestor: sys_attributes, _ directory: borrowing Descriptor) throws(RootError) -> Bool {
        var current = try unsafe Descriptor(sys_openat(directory.number, ".", sys_o_path | O_DIRECTORY, 0), "openat")
        var status = try current.status()
        let top = try sys_attributes(of: descriptor)
        for _ in 0..<SharePath.longestPath {
            if status.isSame(as: ancestor) { return true }
            if status.isSame(as: top) { return false }
            let parent = try unsafe Descriptor(sys_openat(current.number, "..", sys_o_path | O_DIRECTORY, 0), "openat")
            let above = try parent.status()
            // The top of the file tree: the directory was moved out of the root meanwhile.
            if above.isSame(as: status) { return false }
            status = above
            current = parent
        }
        return false
    }
}
