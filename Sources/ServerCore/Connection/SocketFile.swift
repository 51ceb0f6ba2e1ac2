import CSyscalls

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// The file of a Unix-domain socket that this server listens on.
///
/// Another server may have put its own in that place meanwhile, which must stay.
struct SocketFile {
    private let path: String
    private let device: UInt64
    private let inode: UInt64

    /// The file that is there now; nil if there is none.
    init?(_ path: String) {
        var found = sys_attributes()
        guard unsafe sys_statat(AT_FDCWD, path, &found) == 0 else { return nil }
        self.path = path
        device = found.device
        inode = found.inode
    }

    /// Removes the file, if it is still the same.
    func remove() {
        var found = sys_attributes()
        guard unsafe sys_statat(AT_FDCWD, path, &found) == 0 else { return }
        if found.device == device, found.inode == inode { unsafe unlink(path) }
    }
}
