import CSyscalls

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// Files whose data is on its way to the disk, so that many small ones wait together and not one after the other.
struct WriteBackQueue: ~Copyable {
    private static let most = 32
    private var waiting: [(file: SharedDescriptor, durably: Bool)] = []

    /// Starts writing a file back; waits for an earlier one when many are under way.
    mutating func add(_ file: consuming Descriptor, durably: Bool) throws(RootError) {
        // Only a hint: what goes wrong is seen when we wait for it.
        _ = sys_sync_range(file.number, 0, 0, sys_sync_write)
        waiting.append((SharedDescriptor(file), durably))
        if waiting.count >= Self.most { try wait(for: waiting.removeFirst()) }
    }

    /// Waits for all.
    mutating func finish() throws(RootError) {
        while !waiting.isEmpty { try wait(for: waiting.removeFirst()) }
    }

    private func wait(for item: (file: SharedDescriptor, durably: Bool)) throws(RootError) {
        if item.durably {
            _ = try check(sys_fsync(item.file.number), "fsync")
            return
        }
        let answer = sys_sync_range(item.file.number, 0, 0, sys_sync_wait)
        if answer == -ENOSYS || answer == -EINVAL {
            _ = try check(sys_fdatasync(item.file.number), "fdatasync")
            return
        }
        if answer != -ESPIPE { try check(answer, "sync_file_range") }
    }
}
