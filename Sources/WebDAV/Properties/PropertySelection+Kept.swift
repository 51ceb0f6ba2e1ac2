internal import DirectoryRoot

extension PropertySelection {
    /// The stored properties and checksums of a member, as far as they are asked for; none of one that has vanished or
    /// may not be opened.
    ///
    /// Waits for the disk.
    /// - Throws: what the disk reports, so that a failure to read is not taken for having none.
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
