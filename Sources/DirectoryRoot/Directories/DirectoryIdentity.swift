import CSyscalls

/// One directory, by whichever path it is reached: links can lead back up, and a walk enters each once.
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
