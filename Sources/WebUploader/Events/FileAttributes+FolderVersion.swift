import DirectoryRoot

extension FileAttributes {
    /// Differs whenever a member is added, removed or renamed, as far as the resolution of the disk's clock allows, and
    /// for another folder; not when the content of a member changes in place.
    var folderVersion: String { "\(inode)-\(changed.seconds)-\(changed.nanoseconds)" }
}
