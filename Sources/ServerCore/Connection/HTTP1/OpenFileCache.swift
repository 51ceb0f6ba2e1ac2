import DirectoryRoot

/// The files that one loop answered GET with a moment ago: open, with the head composed, so that asking for them again
/// costs a look at what is there instead of an open and everything behind it.
///
/// Never stale: each use compares what stands at the path now with what was opened; see
/// ``DirectoryRoot/holds(_:at:isNested:)``. A path that leads through a link is not kept at all. Few, and each only for
/// some seconds after its last use, so that a deleted file gives its room back and the file system can be unmounted.
/// Only what the kernel opened without asking the disk comes in, and an open file keeps its directories in the kernel's
/// memory: asking again does not wait either.
final class OpenFileCache {
    /// One file, ready to be sent.
    final class File {
        let target: [UInt8]
        let entry: Entry
        /// The fields with `Content-Length`, each line ended.
        let lines: [UInt8]
        /// From the root, ended by NUL.
        private let path: [CChar]
        private let isNested: Bool
        private let root: DirectoryRoot
        /// Under which rules of access it was given.
        let rules: UInt64
        /// How often it was asked for in the last second.
        fileprivate(set) var uses = 0
        fileprivate var lastUse: UInt32

        fileprivate init(
            target: [UInt8], entry: Entry, lines: [UInt8], path: [CChar], root: DirectoryRoot, rules: UInt64,
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

        /// Whether this is what `other` asks for.
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

    /// However many descriptors there are.
    static let capacity = 128
    /// Seconds after the last use.
    static let keep: UInt32 = 3

    private var files: [UInt64: File] = [:]

    /// The file that this target named a moment ago, if it is still the same.
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

    /// Keeps what a target was just answered with, unless there are `limit` files here already.
    func keep(
        _ entry: Entry, for target: UnsafeRawBufferPointer, path: SharePath, root: DirectoryRoot, lines: [UInt8],
        rules: UInt64, tick: UInt32, limit: Int
    ) {
        guard !path.isRoot, entry.realPath == path, target.count <= 1_024 else { return }
        if files.count >= limit { expire(tick, keep: 0) }
        guard files.count < limit else { return }
        unsafe files[Self.hash(target)] = unsafe File(
            target: Array(target), entry: entry, lines: lines, path: path.bytes.map(CChar.init(bitPattern:)) + [0],
            root: root, rules: rules, tick: tick)
    }

    /// Closes what nobody asked for lately.
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
