import CSyscalls

extension DirectoryRoot {
    /// Whether two names lead to one file: by its inode number and, since not every file system that ignores case has
    /// stable numbers, by names that differ only in case or Unicode normalization and of which the directory lists one.
    func isOneFile(_ from: borrowing Location, _ to: borrowing Location) throws(RootError) -> Bool {
        guard let moved = from.status, let old = to.status else { return false }
        if old.isSame(as: moved) { return true }
        func letters(_ path: SharePath) -> String { String(decoding: path.bytes, as: UTF8.self).lowercased() }
        guard from.path != to.path, letters(from.path) == letters(to.path) else { return false }
        return try !Self.lists(Array(to.path.name), in: to.directory)
    }

    /// Moves something to another name of its own: a second hard link, or the same name in another spelling.
    ///
    /// A rename does nothing then, and on a file system that ignores case, the name that is removed afterwards would be
    /// the only one. The directory listings show which of the two it is; a lookup of the name does not, since it may be
    /// answered from a cache. Under the commit lock.
    /// - Throws: ``RootError/selfReference`` when both are one name, or a mount of one directory or file at two places.
    func renameToItself(_ from: borrowing Location, _ to: borrowing Location) throws(RootError) {
        // The name that is left would be the mount point.
        guard from.status?.mount == to.status?.mount else { throw .selfReference }
        let (source, target) = (try from.directory.status(), try to.directory.status())
        let isOneFolder = source.isSame(as: target)
        guard !isOneFolder || source.mount == target.mount && from.path.name != to.path.name else {
            throw .selfReference
        }
        guard try Self.lists(Array(from.path.name), in: from.directory) else { throw .notFound }
        if try Self.lists(Array(to.path.name), in: to.directory) {
            try unsafe check(from.withName { unsafe sys_unlinkat(from.directory.number, $0, 0) }, "unlinkat")
            return
        }
        guard isOneFolder else { throw .selfReference }
        try respell(from, as: to)
    }

    /// Changes the spelling of a name by way of a third name, which users see if the process is killed in between.
    private func respell(_ from: borrowing Location, as to: borrowing Location) throws(RootError) {
        let directory = from.directory.number
        let third = Array(from.path.name.prefix(200)) + Array(" (\(StateFile.randomName()))".utf8)
        func rename(_ one: some Collection<UInt8>, _ other: some Collection<UInt8>) -> Int32 {
            unsafe CString.with(one) { one in
                unsafe CString.with(other) { unsafe sys_renameat(directory, one, directory, $0) }
            }
        }
        try check(rename(from.path.name, third), "renameat")
        var answer = rename(third, to.path.name)
        // A kernel that still takes the new name for the old one does nothing.
        if answer == 0, (try? Self.lists(third, in: from.directory)) ?? true { answer = -EBUSY }
        // If that fails too, users find it under the third name; the error is why it did not get the new one.
        if answer < 0 { _ = rename(third, from.path.name) }
        try check(answer, "renameat")
    }

    /// Whether a directory lists exactly this name.
    private static func lists(_ name: [UInt8], in directory: borrowing Descriptor) throws(RootError) -> Bool {
        try unsafe DirectoryReader.lists(in: directory.number) { unsafe $0.elementsEqual(name) }
    }
}
