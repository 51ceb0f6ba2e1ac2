import CSyscalls

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// One directory on the way down of a ``TreeCopy``, and its new counterpart.
final class CopyLevel {
    /// Where the directory is and where its copy will be, or the deepest place above that a path can name.
    let paths: (source: SharePath, target: SharePath)
    let isLinked: Bool
    /// Whether the requester may do the same everywhere below.
    let hasUniformRights: Bool
    /// The directory that is copied.
    private(set) var source: Int32
    /// The directory that it becomes.
    private(set) var target: Int32
    let identity: sys_attributes
    private let targetIdentity: sys_attributes
    private var reader: DirectoryReader?
    private var skipped: Set<[UInt8]> = []
    /// Closed and opened again: the names are read once more, and those that the target has are done.
    private var wasReopened = false
    /// The member that is being copied, for a report.
    var failing: [UInt8]?
    private(set) var isBroken = false

    /// Takes over both descriptors.
    init?(
        paths: (source: SharePath, target: SharePath), source: Int32, target: Int32, isLinked: Bool,
        hasUniformRights: Bool
    ) {
        var status = sys_attributes()
        var made = sys_attributes()
        guard unsafe sys_fstat(source, &status) == 0, unsafe sys_fstat(target, &made) == 0 else {
            _ = sys_close(source)
            _ = sys_close(target)
            return nil
        }
        self.paths = paths
        self.source = source
        self.target = target
        self.isLinked = isLinked
        self.hasUniformRights = hasUniformRights
        identity = status
        targetIdentity = made
        // The duplicate of a descriptor shares its position.
        _ = sys_rewind(source)
    }

    deinit { closeAll() }

    var isOpen: Bool { source >= 0 && target >= 0 }

    /// Gives the descriptors back for a while, unless the way back would be lost.
    func close(isNeeded: Bool) {
        if !isNeeded { closeAll() }
    }

    private func closeAll() {
        reader = nil
        if source >= 0 { _ = sys_close(source) }
        if target >= 0 { _ = sys_close(target) }
        source = -1
        target = -1
    }

    /// Opens both directories again through the `..` of a child, if that still leads here.
    func reopen(from child: CopyLevel) throws(RootError) {
        isBroken = true
        source = try Self.above(child.source, expected: identity)
        target = try Self.above(child.target, expected: targetIdentity)
        isBroken = false
        wasReopened = true
    }

    private static func above(_ child: Int32, expected: sys_attributes) throws(RootError) -> Int32 {
        let parent = try unsafe Descriptor(sys_openat(child, "..", O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0), "openat")
        // Somebody moved the directory while we copied it: its other members can't be found any more.
        guard try parent.status().isSame(as: expected) else { throw .notFound }
        return parent.release()
    }

    /// Leaves a member out when the names are read again.
    func skip(_ name: [UInt8]) { skipped.insert(name) }

    /// The next member; nil at the end.
    func nextName() throws(RootError) -> [UInt8]? {
        isBroken = true
        if reader == nil { reader = DirectoryReader(descriptor: source) }
        while let record = try unsafe reader?.next() {
            let name = unsafe Array(record.bytes)
            if wasReopened, skipped.contains(name) || isDone(name) { continue }
            isBroken = false
            return name
        }
        isBroken = false
        return nil
    }

    private func isDone(_ name: [UInt8]) -> Bool {
        var status = sys_attributes()
        return unsafe CString.with(name) { unsafe sys_statat(target, $0, &status) } == 0
    }
}
