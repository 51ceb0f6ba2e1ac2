package import CSyscalls

extension sys_attributes {
    /// The status of what an open descriptor refers to.
    /// - Parameters:
    ///   - descriptor: opened in any mode, `O_PATH` too.
    ///   - call: the name of the call in an unknown error.
    /// - Throws: the error of `fstat`.
    init(of descriptor: Int32, _ call: StaticString = "fstat") throws(RootError) {
        self.init()
        try unsafe check(sys_fstat(descriptor, &self), call)
    }

    // The values of `S_IFMT`, `S_ISVTX` and the like are the same on every system; those of the C library's module cost
    // a call each time.
    private var format: UInt32 { mode & 0o170000 }
    var isFile: Bool { format == 0o100000 }
    var isDirectory: Bool { format == 0o040000 }
    var isLink: Bool { format == 0o120000 }
    /// Whether only the owner of a member of this directory may remove it, and not everybody who may write there.
    var isSticky: Bool { mode & 0o1000 != 0 }

    var modificationTime: Timestamp { Timestamp(modified, modified_ns) }
    var changeTime: Timestamp { Timestamp(changed, changed_ns) }
    var accessTime: Timestamp { Timestamp(accessed, accessed_ns) }
    /// Nil where the file system keeps none.
    var birthTime: Timestamp? { has_birth == 0 ? nil : Timestamp(born, born_ns) }

    /// Whether it takes fewer bytes on the disk than its size: holes, or a file system that compresses.
    var hasHoles: Bool { blocks < size / 512 }

    /// The bytes of content that it takes on the disk.
    var room: Int64 { Int64(clamping: hasHoles ? blocks * 512 : size) }

    /// Whether both are the same file, whatever its name.
    func isSame(as other: sys_attributes) -> Bool { inode == other.inode && device == other.device }
}

extension Timestamp {
    fileprivate init(_ seconds: Int64, _ nanoseconds: UInt32) {
        self.init(seconds: seconds, nanoseconds: Int32(truncatingIfNeeded: nanoseconds))
    }
}

extension FileAttributes {
    /// What the share shows of a file or directory; nil for every other kind, which does not exist in a share.
    package init?(_ status: sys_attributes) {
        guard status.isFile || status.isDirectory else { return nil }
        self.init(
            kind: status.isFile ? .file : .directory, size: Int64(truncatingIfNeeded: status.size),
            modified: status.modificationTime, created: status.birthTime, accessed: status.accessTime,
            changed: status.changeTime, inode: status.inode, device: status.device)
    }
}
