import CSyscalls

/// Files whose data is on its way to the disk, so that many small ones wait together and not one after the other.
struct WriteBackQueue: ~Copyable {
    private static let most = 32
    private var waiting: [(file: SharedDescriptor, durably: Bool)] = []
    /// The last file where one call for all is better than one for each, and how many came before.
    private var last: SharedDescriptor?
    private var count = 0
    /// Whether that is so where they all are; nil until there are so many that it counts.
    private var isOrderedByAll: Bool?

    /// Starts writing a file back; waits for an earlier one when many are under way.
    mutating func add(_ file: consuming Descriptor, durably: Bool) throws(RootError) {
        count += 1
        if !durably, count > Self.most {
            let isOrdered = isOrderedByAll ?? (sys_ordering(file.number) == sys_ordered_by_all)
            isOrderedByAll = isOrdered
            if isOrdered {
                last = SharedDescriptor(file)
                return
            }
        }
        WriteBack.start(file.number)
        waiting.append((SharedDescriptor(file), durably))
        if waiting.count >= Self.most { try wait(for: waiting.removeFirst()) }
    }

    /// Waits for all.
    mutating func finish() throws(RootError) {
        while !waiting.isEmpty { try wait(for: waiting.removeFirst()) }
        if let last { try check(sys_sync_all(last.number), "syncfs") }
        last = nil
    }

    private func wait(for item: (file: SharedDescriptor, durably: Bool)) throws(RootError) {
        try WriteBack.wait(for: item.file.number, durably: item.durably)
    }
}
