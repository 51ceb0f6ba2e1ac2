import CSyscalls

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
            let path = try writable(path, orElse: .isDirectory)
            return try root.commitLock.withLockAtOnce { () throws(RootError) -> FileAttributes in
                try create(path, content, replacing, modified)
            }
        } catch {
            return nil
        }
    }

    private func create(
        _ path: SharePath, _ content: [UInt8], _ replacing: Replacement, _ modified: Timestamp?
    ) throws(RootError) -> FileAttributes {
        let location = try root.locate(path, followsLink: false, waiting: false)
        guard location.status == nil, base.contains(location.path) else { throw .exists }
        // A disk may be mounted below the root.
        guard try location.directory.status().device == root.memoryDevice else { throw .wouldBlock }
        try requireFileTarget(location, asked: path, replacing)
        guard Int64(content.count) <= root.policy.maxUploadSize ?? .max else { throw .tooLarge }
        if root.policy.minFreeSpace > 0 {
            try root.requireSpace(for: Int64(content.count), at: location.directory.number)
        }
        let file = try TemporaryFile(in: root, near: location.directory)
        guard file.isUnnamed else { throw .wouldBlock }
        let written = unsafe content.withUnsafeBytes { unsafe sys_pwrite(file.descriptor, $0.baseAddress, $0.count, 0) }
        guard written == content.count else { throw .noSpace }
        try file.setModified(modified)
        let attributes = try file.attributes()
        try file.place(at: location, of: root)
        return attributes
    }
}
