internal import DirectoryRoot

extension PropertySelection {
    /// What is kept of a member of a listing, as far as it is asked for; nothing of one that vanished or may not be
    /// opened.
    ///
    /// Waits for the disk.
    /// - Throws: what the disk says, so that what it fails to tell is not taken for nothing.
    func kept(
        of path: SharePath, in share: Share
    ) throws(RootError) -> (dead: [DeadProperty], checksums: [String: [UInt8]]) {
        do throws(RootError) {
            return (
                needsDead ? try share.properties(of: path) : [], needsChecksums ? try share.checksums(of: path) : [:]
            )
        } catch {
            guard error.meansAbsent else { throw error }
            return ([], [:])
        }
    }
}
