import CSyscalls

/// Identity and state of a file: differs for another file, and after the file was written to.
struct FileStamp: Hashable {
    private let device: UInt64
    private let inode: UInt64
    private let size: UInt64
    private let modified: Int64
    private let modifiedFraction: UInt32
    private let changed: Int64
    private let changedFraction: UInt32

    init(_ status: sys_attributes) {
        device = status.device
        inode = status.inode
        // A directory's size means nothing.
        size = status.isDirectory ? 0 : status.size
        modified = status.modified
        modifiedFraction = status.modified_ns
        changed = status.changed
        changedFraction = status.changed_ns
    }
}
