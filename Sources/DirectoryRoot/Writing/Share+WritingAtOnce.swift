import CSyscalls
import Synchronization

extension DirectoryRoot {
    /// Whether the root is on a file system without a disk.
    package var isInMemory: Bool { memoryDevice != nil }
}

extension Share {
    /// Creates or replaces a file with its whole content, and waits for nobody: neither for a disk nor for another
    /// write.
    ///
    /// Holds to all that ``beginUpload(to:replacing:size:)`` and its commit hold to.
    /// - Parameters:
    ///   - path: of the file.
    ///   - content: at most some pages.
    ///   - replacing: checked under the commit lock.
    ///   - modified: nil for now.
    /// - Returns: the file's attributes, and whether its name is new; nil where anything would have to be waited for or
    ///   forbids it, and then nothing has changed.
    package func writeAtOnce(
        _ path: SharePath, _ content: [UInt8], replacing: Replacement, modified: Timestamp?
    ) -> (attributes: FileAttributes, created: Bool)? {
        // Whoever else is asked may take their time. Now and then an upload must see whether the root is still mounted.
        guard root.isInMemory, precondition == nil, root.policy.observer == nil, !root.resolver.looksHomeNext
        else { return nil }
        do throws(RootError) {
            let full = try absolute(path)
            // What the disk makes of such names has to be found out first.
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

    /// Names are taken one after the other, or free one after the other: to look at a free one costs more than to find
    /// out by taking it.
    private func lookWhereLikelyTaken(_ location: inout Location) throws(RootError) {
        guard root.meetsTakenNames.load(ordering: .relaxed) else { return }
        try location.refresh()
        if location.status == nil { root.meetsTakenNames.store(false, ordering: .relaxed) }
    }

    /// As ``requireFileTarget(_:asked:_:)``; and that a file which is there can be replaced without waiting.
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

    /// - Throws: ``RootError/wouldBlock`` for what is no small file on the root's own file system, has properties to
    ///   keep, goes to the trash, or might be changed by another process meanwhile.
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

    /// Of a file that is replaced, 1 MiB: to give the pages of a large one back takes its time.
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
        // A file system in memory gives no number to two files, so that it tells contents apart even within one tick.
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
        noteArrival(attributes, at: location.path)
        return (attributes, location.status == nil)
    }
}
