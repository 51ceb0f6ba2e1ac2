import CSyscalls

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// The memory that this process may use, by what the machine has and its cgroups leave it.
package enum UsableMemory {
    /// In bytes; looked up once, since each time reads files.
    static let bytes: Int64 = {
        let machine = Int64(sysconf(Int32(_SC_PHYS_PAGES))).multipliedReportingOverflow(by: Int64(getpagesize()))
        let whole = machine.overflow || machine.partialValue <= 0 ? .max : machine.partialValue
        return min(whole, limit(of: read("/proc/self/cgroup") ?? "", read))
    }()

    /// What one purpose may take of it: less than it would on a small machine.
    /// - Parameters:
    ///   - most: on a large one.
    ///   - share: one part in so many.
    /// - Returns: at most `most`, in the same unit.
    static func part(_ most: Int, oneIn share: Int64) -> Int {
        Int(min(Int64(most), max(1 << 16, bytes / share)))
    }

    /// How many things may go on at once that each take some memory which nobody counts: a sixteenth of it together.
    /// - Parameters:
    ///   - most: on a large machine.
    ///   - size: bytes that each takes, about.
    /// - Returns: at least 4, at most `most`.
    package static func places(_ most: Int, each size: Int) -> Int {
        min(most, max(4, part(most * size, oneIn: 16) / size))
    }

    /// The most nested groups that are looked at.
    private static let mostGroups = 64

    /// The least of the limits of a process's group and of those around it.
    ///
    /// Both versions of cgroups, by the places where they are usually mounted. Within a container the group's path is
    /// the one outside it, and only its last parent, the mount itself, is there.
    /// - Parameters:
    ///   - groups: what `/proc/self/cgroup` says.
    ///   - read: gives the text of a file, or nil.
    /// - Returns: bytes; `Int64.max` for no limit.
    static func limit(of groups: String, _ read: (String) -> String?) -> Int64 {
        var least = Int64.max
        for line in groups.split(separator: "\n") {
            let fields = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
            guard fields.count == 3 else { continue }
            let (mount, file): (String, String)
            if fields[1].isEmpty {
                (mount, file) = ("/sys/fs/cgroup", "memory.max")
            } else if fields[1].split(separator: ",").contains("memory") {
                (mount, file) = ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")
            } else {
                continue
            }
            var path = fields[2].split(separator: "/").prefix(mostGroups)
            while true {
                let text = read("\(mount)/\((path + [file[...]]).joined(separator: "/"))")
                // “max” is no number.
                if let bytes = text.flatMap({ Int64($0.prefix { !$0.isWhitespace }) }), bytes > 0 {
                    least = min(least, bytes)
                }
                if path.popLast() == nil { break }
            }
        }
        return least
    }

    /// The first 4 KiB of a file of the system.
    private static func read(_ path: String) -> String? {
        let file = unsafe sys_openat(AT_FDCWD, path, O_RDONLY, 0)
        guard file >= 0 else { return nil }
        defer { _ = sys_close(file) }
        return unsafe withUnsafeTemporaryAllocation(byteCount: 4_096, alignment: 1) { buffer in
            let count = unsafe sys_pread(file, buffer.baseAddress, buffer.count, 0)
            return count < 0 ? nil : unsafe String(decoding: buffer[..<count], as: UTF8.self)
        }
    }
}
