import DirectoryRoot

/// One file or folder of an archive, as it was when the archive was planned.
struct ArchiveMember: Sendable {
    /// Relative to the archive's folder; raw bytes, without a trailing slash.
    let path: [UInt8]
    let isDirectory: Bool
    /// In bytes; 0 for a folder.
    let size: Int64
    /// Seconds since 1970.
    let modified: Int64

    /// The name as archives contain it: folders with a trailing slash.
    var archiveName: [UInt8] { isDirectory ? path + [UInt8(ascii: "/")] : path }

    /// The length of ``archiveName``.
    var archiveNameLength: Int { path.count + (isDirectory ? 1 : 0) }
}
