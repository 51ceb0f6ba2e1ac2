package import CSyscalls

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

extension sys_attributes {
    var format: mode_t { mode_t(truncatingIfNeeded: mode) & S_IFMT }
    var isFile: Bool { format == S_IFREG }
    var isDirectory: Bool { format == S_IFDIR }
    var isLink: Bool { format == S_IFLNK }

    /// Whether both are the same file, whatever its name.
    func isSame(as other: sys_attributes) -> Bool { inode == other.inode && device == other.device }
}

extension FileAttributes {
    /// What the share shows of a file or directory; nil for every other kind, which does not exist in a share.
    package init?(_ status: sys_attributes) {
        let kind: Kind
        switch status.format {
        case S_IFREG: kind = .file
        case S_IFDIR: kind = .directory
        default: return nil
        }
        self.init(
            kind: kind, size: Int64(truncatingIfNeeded: status.size),
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
