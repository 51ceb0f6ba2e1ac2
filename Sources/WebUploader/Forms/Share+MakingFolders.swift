import DirectoryRoot

extension Share {
    /// Begins an upload at `path`, or with ``ConflictRule/keep`` at the first free name beside it; makes the folders
    /// that it needs.
    /// - Parameters:
    ///   - path: the wished one.
    ///   - rule: what becomes of a name that is taken.
    ///   - first: the number to begin with, where those before it are known to be taken.
    ///   - size: of the content, where that is known.
    /// - Returns: the upload, and the number that was free.
    /// - Throws: ``RootError``.
    func beginUpload(
        to path: SharePath, by rule: ConflictRule, from first: Int = 0, size: Int64? = nil
    ) throws -> (number: Int, upload: PendingUpload) {
        try path.withFreeName(by: rule, from: first) { path, number in
            try makingFolders(to: path.parent) {
                (number, try beginUpload(to: path, replacing: rule.replacement, size: size))
            }
        }
    }

    /// Runs `work`, and once more with the folder at `path` made when that was missing.
    func makingFolders<Answer>(to path: SharePath, _ work: () throws -> Answer) throws -> Answer {
        do {
            return try work()
        } catch RootError.parentMissing {
            try makeFolders(to: path)
            return try work()
        }
    }

    /// Makes a folder and those above it, where they are missing.
    private func makeFolders(to path: SharePath) throws {
        var made = SharePath.root
        for name in path.components {
            made = try made.appending(name)
            do {
                try createDirectory(at: made)
            } catch {
                // Nothing to do where it is; without the right to create, it may be there still.
                let isThere = (try? attributes(of: made))?.isDirectory == true
                guard error == .exists || error == .forbidden && isThere else { throw error }
            }
        }
    }
}
