import CSyscalls

/// One directory on the way down of a ``TreeCopy``, and its new counterpart.
final class CopyLevel {
    /// Where the directory is and where its copy will be; if that would be too long for a path, the deepest place above
    /// that is not.
    let paths: (source: SharePath, target: SharePath)
    /// Whether a link led here.
    let isLinked: Bool
    /// Whether the requester has the same rights everywhere below.
    let hasUniformRights: Bool
    private let origin: WalkedDirectory
    private let copy: WalkedDirectory
    private var reader: DirectoryReader?
    /// Whether an earlier walk may have copied names that the copy has.
    private let isGoneOver: Bool
    /// Whether the directory and all those above it are where they were before the first walk.
    let isInPlace: Bool
    private var skipped: Set<[UInt8]> = []
    /// Whether two names of the directory may be one name in its copy, which matters only when it is gone over again.
    private let mayConfuse: Bool
    /// The names that this walk has copied, or found to be copied; filled only when ``mayConfuse``.
    private var copied: [NameKey: [UInt8]] = [:]
    private static let mostCopied = 65_536
    /// How many names were read.
    private var seen = 0
    /// It was closed and opened again: the names are read once more, and those that the target has are done.
    private var wasReopened = false
    /// What the directory record of the last member says.
    private(set) var last = (inode: UInt64(0), type: UInt32(0))
    /// The member that is being copied, for the failure report.
    var failing: [UInt8]?
    private(set) var isBroken = false

    /// - Parameters:
    ///   - paths: where the two are.
    ///   - source: the directory that is copied.
    ///   - target: the directory that it becomes.
    ///   - isLinked: whether a link led here.
    ///   - hasUniformRights: whether the requester has the same rights everywhere below.
    ///   - isGoneOver: whether the copy may have names from an earlier walk.
    ///   - isInPlace: whether the directory and those above it have not moved since before the first walk.
    /// - Throws: what looking at the directories met.
    init(
        paths: (source: SharePath, target: SharePath), source: consuming Descriptor, target: consuming Descriptor,
        isLinked: Bool, hasUniformRights: Bool, isGoneOver: Bool, isInPlace: Bool
    ) throws(RootError) {
        self.paths = paths
        origin = try WalkedDirectory(source)
        copy = try WalkedDirectory(target)
        self.isLinked = isLinked
        self.hasUniformRights = hasUniformRights
        self.isGoneOver = isGoneOver
        self.isInPlace = isInPlace
        mayConfuse = isGoneOver ? try !FolderNames(in: copy.number, assumesNothing: false).tellsAllApart : false
        // The duplicate of a descriptor shares its position.
        _ = sys_rewind(origin.number)
    }

    /// The directory that is copied.
    var source: Int32 { origin.number }
    /// The directory that it becomes.
    var target: Int32 { copy.number }
    /// The status of the copied directory when the walk came to it.
    var identity: sys_attributes { origin.identity }

    var isOpen: Bool { origin.isOpen && copy.isOpen }

    /// Closes both descriptors for a while.
    func close() {
        reader = nil
        origin.close()
        copy.close()
    }

    /// If closed, opens both directories again through the `..` of a child, provided that this still leads here.
    ///
    /// When somebody moved them during the copy, their remaining members can't be found any more.
    func reopen(from child: CopyLevel) throws(RootError) {
        guard !isOpen else { return }
        isBroken = true
        try origin.reopen(from: child.origin)
        try copy.reopen(from: child.copy)
        isBroken = false
        wasReopened = true
    }

    /// Whether the requester may know about the member that was read last.
    func mayTell(ofLast name: [UInt8], to share: Share) -> Bool {
        guard [UInt32(DT_REG), UInt32(DT_DIR), UInt32(DT_UNKNOWN)].contains(last.type) else { return false }
        guard !hasUniformRights else { return true }
        let path = paths.source.appendingIfFits(name)
        // Some file systems do not say what it was.
        return share.maySee(path, isDirectory: last.type != DT_REG, listed: true)
    }

    /// Whether a name already stands for the copy of another member, in a directory that is gone over.
    ///
    /// The first walk finds that out from what the copy already has.
    /// - Throws: ``RootError/tooMany`` without a descriptor left.
    func isTaken(_ name: [UInt8]) throws(RootError) -> Bool {
        guard mayConfuse, copied.count < Self.mostCopied else { return false }
        guard let other = copied.updateValue(name, forKey: NameKey(name)), other != name else { return false }
        return try FolderNames(in: target, assumesNothing: false).mayTake(name, for: other)
    }

    /// Leaves a member out when the names are read again.
    func skip(_ name: [UInt8]) { skipped.insert(name) }

    /// The next member; nil at the end.
    func nextName() throws(RootError) -> [UInt8]? {
        isBroken = true
        if reader == nil {
            reader = DirectoryReader(descriptor: source)
            // If this skips the wrong names, the directory was changed, and is gone over once more.
            if isGoneOver { for _ in 0..<seen { _ = try unsafe reader?.next() } }
        }
        while let record = try unsafe reader?.next() {
            let name = unsafe Array(record.bytes)
            seen += 1
            if wasReopened, !isGoneOver, skipped.contains(name) || isDone(name) { continue }
            isBroken = false
            last = unsafe (record.inode, record.type)
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
