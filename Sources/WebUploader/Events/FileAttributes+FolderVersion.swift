import DirectoryRoot

extension FileAttributes {
    /// Changes whenever a member comes, goes or gets another name, as far as the disk's clock tells moments apart, and
    /// with the folder itself; not when a member's content changes in its place.
    var folderVersion: String { "\(inode)-\(changed.seconds)-\(changed.nanoseconds)" }
}
