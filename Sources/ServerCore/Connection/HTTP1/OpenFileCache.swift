import DirectoryRoot

/// The files with which one loop answered recent GET requests: open, with their heads composed, so that another request
/// costs one check of what is at the path instead of an open and everything after it.
///
/// What differs between the whole file, a part of it, and the news that it is still what the client has, is written for
/// each request; see ``Variant``.
///
/// Never stale: each use compares what is at the path now with what was opened; see
/// ``DirectoryRoot/holds(_:at:isNested:)``. A path that leads through a link is never cached. The entries are few, and
/// each is kept only for some seconds after its last use, so that a deleted file's space is freed and the file system
/// can be unmounted. Only what the kernel opened without asking the disk is cached, and an open file keeps its
/// directories in the kernel's cache: the check does not wait either.
final class OpenFileCache {
    /// One file, ready to be sent.
    final class File {
        let target: [UInt8]
        let entry: Entry
        let lines: Lines
        /// From the root, ended by NUL.
        private let path: [CChar]
        private let isNested: Bool
        private let root: DirectoryRoot
        /// The access rules under which it was sent.
        let rules: UInt64
        /// How often it was requested in the last second.
        fileprivate(set) var uses = 0
        fileprivate var lastUse: UInt32

        fileprivate init(
            target: [UInt8], entry: Entry, lines: Lines, path: [CChar], root: DirectoryRoot, rules: UInt64,
            tick: UInt32
        ) {
            self.target = target
            self.entry = entry
            self.lines = lines
            self.path = path
            isNested = path.contains(CChar(UInt8(ascii: "/")))
            self.root = root
            self.rules = rules
            lastUse = tick
        }

        /// Whether `other` is this file's target.
        func names(_ other: UnsafeRawBufferPointer) -> Bool {
            unsafe target.count == other.count && target.elementsEqual(other)
        }

        fileprivate var isCurrent: Bool {
            unsafe path.withUnsafeBufferPointer { path in
                guard let name = path.baseAddress else { return false }
                return unsafe root.holds(entry, at: name, isNested: isNested)
            }
        }
    }

    /// The most files, however many descriptors there are.
    static let capacity = 128
    /// How many seconds after its last use a file is kept.
    static let keep: UInt32 = 3

    private var files: [UInt64: File] = [:]

    /// The file that this target led to a moment ago, if it is still the same.
    func find(_ target: UnsafeRawBufferPointer, rules: UInt64, tick: UInt32) -> File? {
        guard !files.isEmpty else { return nil }
        let key = unsafe Self.hash(target)
        guard let file = files[key], unsafe file.names(target) else { return nil }
        guard file.rules == rules, file.isCurrent else {
            files[key] = nil
            return nil
        }
        if file.lastUse != tick { file.uses = 0 }
        file.lastUse = tick
        file.uses += 1
        return file
    }

    /// Caches the file with which a target was just answered, unless there are `limit` files already.
    func keep(
        _ entry: Entry, for target: UnsafeRawBufferPointer, path: SharePath, root: DirectoryRoot, lines: Lines,
        rules: UInt64, tick: UInt32, limit: Int
    ) {
        guard !path.isRoot, entry.realPath == path, target.count <= 1_024 else { return }
        if files.count >= limit { expire(tick, keep: 0) }
        guard files.count < limit else { return }
        unsafe files[Self.hash(target)] = unsafe File(
            target: Array(target), entry: entry, lines: lines, path: path.bytes.map(CChar.init(bitPattern:)) + [0],
            root: root, rules: rules, tick: tick)
    }

    /// Closes the files that were not requested lately.
    func expire(_ tick: UInt32, keep: UInt32 = OpenFileCache.keep) {
        guard !files.isEmpty else { return }
        files = files.filter { tick &- $0.value.lastUse <= keep }
    }

    /// Closes everything.
    func clear() { files = [:] }

    private static func hash(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for index in bytes.indices { hash = unsafe (hash ^ UInt64(bytes[index])) &* 0x0000_0100_0000_01B3 }
        return hash
    }
}
