package import CSyscalls

extension sys_attributes {
    // `S_IFMT` and the like, the same on every system; those of the C library's module cost a call each time.
    private var format: UInt32 { mode & 0o170000 }
    var isFile: Bool { format == 0o100000 }
    var isDirectory: Bool { format == 0o040000 }
    var isLink: Bool { format == 0o120000 }

    /// Whether both are the same file, whatever its name.
    func isSame(as other: sys_attributes) -> Bool { inode == other.inode && device == other.device }
}

extension FileAttributes {
    /// What the share shows of a file or directory; nil for every other kind, which does not exist in a share.
    package init?(_ status: sys_attributes) {
        guard status.isFile || status.isDirectory else { return nil }
        self.init(
            kind: status.isFile ? .file : .directory, size: Int64(truncatingIfNeeded: status.size),
            modified: Timestamp(
                seconds: status.modified, nanoseconds: Int32(truncatingIfNeeded: status.modified_ns)),
            created: status.has_birth == 0
                ? nil : Timestamp(seconds: status.born, nanoseconds: Int32(truncatingIfNeeded: status.born_ns)),
            accessed: Timestamp(
                seconds: status.accessed, nanoseconds: Int32(truncatingIfNeeded: status.accessed_ns)),
            changed: Timestamp(seconds: status.changed, nanoseconds: Int32(truncatingIfNeeded: status.changed_ns)),
            inode: status.inode, device: status.device)
    }
}
