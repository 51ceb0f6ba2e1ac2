import CSyscalls

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// The memory that this process may use, according to the machine and the process's cgroups.
package enum UsableMemory {
    /// In bytes; determined once, since it requires reading files.
    static let bytes: Int64 = {
        let machine = Int64(sysconf(Int32(_SC_PHYS_PAGES))).multipliedReportingOverflow(by: Int64(getpagesize()))
        let whole = machine.overflow || machine.partialValue <= 0 ? .max : machine.partialValue
        return min(whole, limit(of: read("/proc/self/cgroup") ?? "", read))
    }()

    /// The part that one purpose may take: less on a small machine.
    /// - Parameters:
    ///   - most: the amount on a large machine.
    ///   - share: the divisor of the usable memory.
    /// - Returns: at most `most`, in bytes.
    static func part(_ most: Int, oneIn share: Int64) -> Int {
        Int(min(Int64(most), max(1 << 16, bytes / share)))
    }

    /// How many operations may run at once that each take some memory which is not counted otherwise: a sixteenth of
    /// the usable memory together.
    /// - Parameters:
    ///   - most: the number on a large machine.
    ///   - size: about how many bytes each takes.
    /// - Returns: at least 4, at most `most`.
    package static func places(_ most: Int, each size: Int) -> Int {
        min(most, max(4, part(most * size, oneIn: 16) / size))
    }

    /// The most nested groups that are examined.
    private static let mostGroups = 64

    /// The smallest of the limits of a process's group and those around it.
    ///
    /// For both versions of cgroups, at the places where they are usually mounted. Within a container, the group's path
    /// is the one outside it, and only its last parent, the mount itself, exists.
    /// - Parameters:
    ///   - groups: the content of `/proc/self/cgroup`.
    ///   - read: returns the text of a file, or nil.
    /// - Returns: the limit in bytes; `Int64.max` for none.
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
            var group = fields[2] == "/" ? "" : fields[2]
            for _ in 0..<mostGroups {
                // “max” is not a number.
                if let text = read("\(mount)\(group)/\(file)"), let bytes = Int64(text.prefix { !$0.isWhitespace }),
                    bytes > 0
                {
                    least = min(least, bytes)
                }
                guard let last = group.lastIndex(of: "/") else { break }
                group = group[..<last]
            }
        }
        return least
    }

    /// The first 4 KiB of a system file.
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
