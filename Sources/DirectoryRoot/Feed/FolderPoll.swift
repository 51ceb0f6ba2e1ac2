import CSyscalls

/// Finds out what changed in a folder by polling: where nothing can be watched, and on file systems where a watch does
/// not report changes by other hosts.
struct FolderPoll {
    private let directory: SharedDescriptor
    private var known: [[UInt8]: UInt64]?
    private var directoryTime: Timestamp?
    private var next: ContinuousClock.Instant

    /// The pause between two polls; it is also at least twenty times as long as a poll takes.
    static let interval: Duration = .seconds(2)
    /// In larger folders only the folder's own time is checked: names that come and go, not contents.
    private static let mostMembers = 20_000

    /// - Parameter directory: open for reading.
    init(_ directory: SharedDescriptor) {
        self.directory = directory
        next = .now + Self.interval
        _ = look()
    }

    /// What changed since the last poll, if it is time for another; nil when nothing did.
    mutating func changes(at now: ContinuousClock.Instant) -> FolderChange? {
        guard now >= next else { return nil }
        let found = look()
        let took = ContinuousClock.now - now
        next = ContinuousClock.now + max(Self.interval, took * 20)
        return found
    }

    private mutating func look() -> FolderChange? {
        var status = sys_attributes()
        guard unsafe sys_fstat(directory.number, &status) == 0, status.links > 0 else { return .all }
        let time = status.changeTime
        defer { directoryTime = time }
        guard let members = members() else {
            known = nil
            return directoryTime == nil || directoryTime == time ? nil : .all
        }
        defer { known = members }
        guard let known else { return nil }
        var names: Set<[UInt8]> = []
        for (name, mark) in members where known[name] != mark { names.insert(name) }
        for name in known.keys where members[name] == nil { names.insert(name) }
        if names.isEmpty { return nil }
        return names.count > FolderChange.mostNames ? .all : .names(names)
    }

    /// The members, each with a number that changes with its content; nil when there are too many.
    private func members() -> [[UInt8]: UInt64]? {
        guard let reading = try? Descriptor(sys_reopen(directory.number, O_RDONLY | O_DIRECTORY), "open") else {
            return nil
        }
        var reader = DirectoryReader(descriptor: reading.number)
        var members: [[UInt8]: UInt64] = [:]
        // Members that can't be read count as removed, and come back at the next poll.
        while let record = try? unsafe reader.next() {
            var status = sys_attributes()
            guard unsafe sys_statat(reading.number, record.name, &status) == 0 else { continue }
            var hasher = Hasher()
            hasher.combine(status.inode)
            hasher.combine(status.size)
            hasher.combine(status.mode)
            hasher.combine(status.modified)
            hasher.combine(status.modified_ns)
            unsafe members[Array(record.bytes)] = UInt64(bitPattern: Int64(hasher.finalize()))
            if members.count > Self.mostMembers { return nil }
        }
        return members
    }
}
