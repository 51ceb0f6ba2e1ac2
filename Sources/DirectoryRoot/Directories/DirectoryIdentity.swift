import CSyscalls

/// Identifies a directory whichever path it is reached by: links can lead back up, and a walk enters each directory
/// once.
package struct DirectoryIdentity: Hashable, Sendable {
    private let device: UInt64
    private let inode: UInt64

    /// Of the directory with these attributes.
    package init(_ attributes: FileAttributes) {
        device = attributes.device
        inode = attributes.inode
    }

    init(_ status: sys_attributes) {
        device = status.device
        inode = status.inode
    }
}
