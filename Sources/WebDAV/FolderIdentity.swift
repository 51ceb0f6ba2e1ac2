internal import DirectoryRoot

/// Which folder it is, by whatever path it was reached.
struct FolderIdentity: Hashable, Sendable {
    private let device: UInt64
    private let inode: UInt64

    init(_ attributes: FileAttributes) {
        device = attributes.device
        inode = attributes.inode
    }
}
