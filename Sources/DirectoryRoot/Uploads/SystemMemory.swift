import CSyscalls

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// The memory in which the system keeps what was written before the disk has it.
///
/// It outlives every process: only the system itself, when it stops, and a disk that is pulled lose what it holds.
enum SystemMemory {
    /// A name that is the same for as long as what was written there is not lost: until the system starts anew or the file
    /// system is mounted anew.
    /// - Parameter descriptor: open on the file system.
    /// - Returns: nil where that can't be told: on Linux before 6.8, on others, and where other hosts may write too.
    static func name(of descriptor: Int32) -> String? {
        guard let boot, sys_is_shared(descriptor) == 0 else { return nil }
        let mount = sys_mount_name(descriptor)
        return mount == 0 ? nil : "\(boot)-\(mount)"
    }

    /// Of this start of the system.
    private static let boot: String? = {
        let file = unsafe sys_openat(AT_FDCWD, "/proc/sys/kernel/random/boot_id", 0, 0)
        guard file >= 0 else { return nil }
        defer { _ = sys_close(file) }
        var text = [UInt8](repeating: 0, count: 64)
        let count = unsafe text.withUnsafeMutableBytes { unsafe sys_read(file, $0.baseAddress, $0.count) }
        // A UUID and a line end.
        return count == 37 ? String(decoding: text[..<36], as: UTF8.self) : nil
    }()
}
