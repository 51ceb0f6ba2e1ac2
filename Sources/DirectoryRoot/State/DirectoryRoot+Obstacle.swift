#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

extension DirectoryRoot {
    /// Why most changes will fail, as far as it can be told beforehand: this user has no access to the directory or its
    /// state.
    ///
    /// Nil when both are accessible, or nothing is to be changed.
    package var obstacle: (place: String, errno: Int32)? {
        guard !policy.isReadOnly else { return nil }
        for place in [".", StateFolder.name] {
            let rights = R_OK | W_OK | X_OK
            if unsafe faccessat(state.folder.root, place, rights, AT_EACCESS) != 0, errno != ENOENT {
                return (place, errno)
            }
        }
        return nil
    }
}
