internal import DirectoryRoot
internal import ServerCore

/// Counts the members of a tree before they are listed.
///
/// A listing that is too long could only break off, and programs that do not know RFC 4918 §11.5 take what they got for
/// everything there is, or fail at the entry that says so: those that may ask for less have to be told at once.
enum MemberCount {
    /// Whether a tree has more members than `most`; waits for the disk.
    /// - Parameters:
    ///   - most: after so many, no more are counted.
    ///   - path: of the tree; anything but a folder that can be listed has none.
    ///   - share: the requester's view.
    ///   - memory: counts the folders that are still to be entered.
    /// - Returns: false also for a tree that grows beyond that later.
    /// - Throws: what the disk reports; ``RootError/tooMany`` when there is no memory for more folders.
    static func isAbove(
        _ most: Int, below path: SharePath, in share: Share, _ memory: TreeMemory.Portion
    ) throws(RootError) -> Bool {
        guard let top = try? share.list(path) else { return false }
        var left = most
        var folders = FoldersAhead(below: path, entered: top)
        var next: (path: SharePath, cursor: DirectoryCursor)? = (path, top)
        while let (folder, cursor) = next {
            cursor.entersFolders = true
            let isCut = try unsafe cursor.visit { (name, attributes, _) throws(RootError) in
                guard left > 0 else { return false }
                left -= 1
                if attributes.isDirectory {
                    folders.add(try unsafe folder.appending(name))
                    try memory.hold(folders.byteCount)
                }
                return true
            }
            if isCut { return true }
            next = try folders.next(in: share)
        }
        return false
    }
}
