import CSyscalls
import Synchronization

extension DirectoryRoot {
    /// Whether the root is on a file system in memory.
    package var isInMemory: Bool { memoryDevice != nil }
}

extension Share {
    /// Creates or replaces a file with its whole content, without waiting: neither for a disk nor for another write.
    ///
    /// Obeys all the rules of ``beginUpload(to:replacing:size:)`` and its commit.
    /// - Parameters:
    ///   - path: of the file.
    ///   - content: a few pages at most.
    ///   - replacing: checked under the commit lock.
    ///   - modified: its modification time; nil for the current time.
    /// - Returns: the file's attributes, and whether its name is new; nil if it would have to wait or something forbids
    ///   it, and then nothing has changed.
    package func writeAtOnce(
        _ path: SharePath, _ content: [UInt8], replacing: Replacement, modified: Timestamp?
    ) -> (attributes: FileAttributes, created: Bool)? {
        // Observers and preconditions may take long. From time to time an upload must check whether the root is still
        // mounted.
        guard root.isInMemory, precondition == nil, root.policy.observer == nil, !root.resolver.looksHomeNext
        else { return nil }
        do throws(RootError) {
            let full = try absolute(path)
            // How the disk treats such names would have to be found out first.
            guard !rights.mayMean(full), !root.hiddenSpellings.mayHave(full), !full.hasShortNames,
                !root.hasFarMounts
            else { return nil }
            let path = try writable(path, orElse: .isDirectory)
            return try root.commitLock.withLockAtOnce(in: root) {
                (state) throws(RootError) -> (attributes: FileAttributes, created: Bool) in
                let parent = try root.resolver.openAtOnce(directory: path.parent)
                var location = Location(assumedFree: path, in: parent)
                try lookWhereLikelyTaken(&location)
                try requireTargetAtOnce(location, replacing, state)
                let file = try write(content, near: location, modified)
                do throws(RootError) {
                    return try place(file, at: location)
                } catch .exists where location.status == nil {
                    root.meetsTakenNames.store(true, ordering: .relaxed)
                    try location.refresh()
                    try requireTargetAtOnce(location, replacing, state)
                    return try place(file, at: location)
                }
            }
        } catch {
            return nil
        }
    }

    /// Uploads often meet taken names in a row, or free ones in a row: looking at a free name costs more than finding
    /// out by taking it.
    private func lookWhereLikelyTaken(_ location: inout Location) throws(RootError) {
        guard root.meetsTakenNames.load(ordering: .relaxed) else { return }
        try location.refresh()
        if location.status == nil { root.meetsTakenNames.store(false, ordering: .relaxed) }
    }

    /// As ``requireFileTarget(_:asked:_:)``; also checks that an existing file can be replaced without waiting.
    private func requireTargetAtOnce(
        _ location: borrowing Location, _ replacing: Replacement, _ state: StateGlance.Finding
    ) throws(RootError) {
        let old = location.status
        if let old {
            try requireReplaceableAtOnce(old, state)
            guard !location.mayHaveAttributes else { throw .wouldBlock }
        }
        try requireMatch(replacing, old)
        try requireReplaceable(location, asked: location.path)
        guard case .tables = state else { return }
        try checkLocks(old == nil ? WriteUse(bindings: [location.path]) : WriteUse(changes: [location.path]))
    }

    /// - Throws: ``RootError/wouldBlock`` for anything but a small file on the root's own file system, and for one that
    ///   has properties to keep, goes to the trash, or might be changed by another process meanwhile.
    private func requireReplaceableAtOnce(
        _ old: sys_attributes, _ state: StateGlance.Finding
    ) throws(RootError) {
        let hints: PropertyHints
        switch state {
        case .nothing: throw .wouldBlock
        case .noLocks(let known): hints = known
        case .tables: hints = try root.state.properties.hints()
        }
        guard root.policy.trashDays == 0, old.isFile, old.device == root.memoryDevice, old.blocks <= Self.mostBlocks,
            let attributes = FileAttributes(old), !hints.mayHaveProperties(attributes)
        else { throw .wouldBlock }
    }

    /// The largest file that is replaced, in blocks of 512 bytes (1 MiB): freeing the pages of a larger one takes long.
    private static let mostBlocks: UInt64 = 2_048

    private func write(
        _ content: [UInt8], near location: borrowing Location, _ modified: Timestamp?
    ) throws(RootError) -> TemporaryFile {
        try root.policy.requireSize(Int64(content.count))
        if root.freeSpaceReserve > 0 {
            try root.requireSpace(for: Int64(content.count), at: location.directory.number)
        }
        let file = try TemporaryFile(in: root, near: location.directory)
        guard file.isUnnamed else { throw .wouldBlock }
        let written = unsafe content.withUnsafeBytes { unsafe sys_pwrite(file.descriptor, $0.baseAddress, $0.count, 0) }
        guard written == content.count else { throw .noSpace }
        // A file system in memory never uses an inode number twice, so entity tags differ even within one tick.
        if let modified { try file.setModified(modified) }
        return file
    }

    private func place(
        _ file: TemporaryFile, at location: borrowing Location
    ) throws(RootError) -> (attributes: FileAttributes, created: Bool) {
        let status = try file.status()
        guard let attributes = FileAttributes(status) else { throw .notFound }
        if let old = location.status {
            try FileMetadata.takeOffAccessList(from: file.descriptor)
            try file.keepPermissions(of: old, where: status, hasAccessList: true)
        }
        try file.place(at: location, of: root)
        root.recentCommits.note(attributes.entityTag, by: origin)
        noteArrival(attributes, at: location.path)
        return (attributes, location.status == nil)
    }
}
