import CSyscalls

/// What tells a file that was written to, or another one, from what it was.
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
        // A directory's size says nothing.
        size = status.isDirectory ? 0 : status.size
        modified = status.modified
        modifiedFraction = status.modified_ns
        changed = status.changed
        changedFraction = status.changed_ns
    }
}
