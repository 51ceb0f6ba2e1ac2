import CSyscalls
import Synchronization

extension DirectoryRoot {
    /// Whether the root is on a file system without a disk.
    package var isInMemory: Bool { memoryDevice != nil }
}

extension Share {
    /// Creates a file with its whole content, and waits for nobody: neither for a disk nor for another write.
    ///
    /// Holds to all that ``beginUpload(to:replacing:size:)`` and its commit hold to.
    /// - Parameters:
    ///   - path: a name that is free.
    ///   - content: at most some pages.
    ///   - replacing: checked under the commit lock.
    ///   - modified: nil for now.
    /// - Returns: the new file's attributes; nil where anything would have to be waited for, is there already or forbids
    ///   it, and then nothing has changed.
    package func createAtOnce(
        _ path: SharePath, _ content: [UInt8], replacing: Replacement, modified: Timestamp?
    ) -> FileAttributes? {
        // Whoever else is asked may take their time. Now and then an upload must see whether the root is still mounted.
        guard root.isInMemory, precondition == nil, root.policy.observer == nil, !root.resolver.looksHomeNext
        else { return nil }
        do throws(RootError) {
            let full = try absolute(path)
            // What the disk makes of such names has to be found out first.
            guard !rights.mayMean(full), !root.hiddenSpellings.mayHave(full), !full.hasShortNames else { return nil }
            let path = try writable(path, orElse: .isDirectory)
            return try root.commitLock.withLockAtOnce(in: root) { (mayBeLocked) throws(RootError) -> FileAttributes in
                let parent = try root.resolver.openAtOnce(directory: path.parent)
                var location = Location(assumedFree: path, in: parent)
                try requireMatch(replacing, nil)
                try requireReplaceable(location, asked: path)
                if mayBeLocked { try checkLocks(WriteUse(bindings: [path])) }
                try requireFree(&location)
                return try create(location, content, modified)
            }
        } catch {
            return nil
        }
    }

    /// Looks at the name, where it is likely to be taken: to make a file in vain costs more.
    private func requireFree(_ location: inout Location) throws(RootError) {
        guard root.meetsTakenNames.load(ordering: .relaxed) else { return }
        try location.refresh()
        guard location.status == nil else { throw .exists }
        root.meetsTakenNames.store(false, ordering: .relaxed)
    }

    private func create(
        _ location: borrowing Location, _ content: [UInt8], _ modified: Timestamp?
    ) throws(RootError) -> FileAttributes {
        guard Int64(content.count) <= root.policy.maxUploadSize ?? .max else { throw .tooLarge }
        if root.policy.minFreeSpace > 0 {
            try root.requireSpace(for: Int64(content.count), at: location.directory.number)
        }
        let file = try TemporaryFile(in: root, near: location.directory)
        guard file.isUnnamed else { throw .wouldBlock }
        let written = unsafe content.withUnsafeBytes { unsafe sys_pwrite(file.descriptor, $0.baseAddress, $0.count, 0) }
        guard written == content.count else { throw .noSpace }
        // A file system in memory gives no number to two files, so that it tells contents apart even within one tick.
        if let modified { try file.setModified(modified) }
        let attributes = try file.attributes()
        do throws(RootError) {
            try file.place(at: location, of: root)
        } catch {
            if error == .exists { root.meetsTakenNames.store(true, ordering: .relaxed) }
            throw error
        }
        return attributes
    }
}
