import DirectoryRoot

extension Share {
    /// Begins an upload at `path`, or with ``ConflictRule/keep`` at the first free name with a number; creates the
    /// folders that it needs.
    /// - Parameters:
    ///   - path: the requested path.
    ///   - rule: what to do when the name is taken.
    ///   - replacing: what may be there.
    ///   - first: the number to begin with, if those before it are known to be taken.
    /// - Returns: the upload, and the number that was free.
    /// - Throws: ``RootError``.
    func beginUpload(
        to path: SharePath, by rule: ConflictRule, replacing: Replacement, from first: Int = 0
    ) throws -> (number: Int, upload: PendingUpload) {
        try path.withFreeName(by: rule, from: first) { path, number in
            try makingFolders(to: path.parent) {
                (number, try beginUpload(to: path, replacing: replacing))
            }
        }
    }

    /// Runs `work`; if the folder at `path` is missing, creates it and runs `work` again.
    func makingFolders<Answer>(to path: SharePath, _ work: () throws -> Answer) throws -> Answer {
        do {
            return try work()
        } catch RootError.parentMissing {
            try makeFolders(to: path)
            return try work()
        }
    }

    /// Creates a folder and those above it, if they are missing.
    private func makeFolders(to path: SharePath) throws {
        var made = SharePath.root
        for name in path.components {
            made = try made.appending(name)
            do {
                try createDirectory(at: made)
            } catch {
                // Nothing to do if it exists; even without the right to create it, it may exist.
                let isThere = (try? attributes(of: made))?.isDirectory == true
                guard error == .exists || error == .forbidden && isThere else { throw error }
            }
        }
    }
}
