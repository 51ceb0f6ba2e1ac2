import CSyscalls

/// Files whose data is being written back, so that many small ones are waited for together and not one after the other.
struct WriteBackQueue: ~Copyable {
    private static let most = 32
    private var waiting: [(file: SharedDescriptor, durably: Bool)] = []
    /// Whether one call syncs all of them; nil until there are enough for it to matter.
    private var isOrderedByAll: Bool?

    /// Starts writing a file back; waits for earlier ones when many are under way.
    mutating func add(_ file: consuming Descriptor, durably: Bool) throws(RootError) {
        WriteBack.start(file.number)
        let number = file.number
        waiting.append((SharedDescriptor(file), durably))
        guard waiting.count >= Self.most else { return }
        let isOrdered = isOrderedByAll ?? (sys_ordering(number) == sys_ordered_by_all)
        isOrderedByAll = isOrdered
        // One call for all takes as long for many files as for one.
        if isOrdered { try finish() } else { try wait(for: waiting.removeFirst()) }
    }

    /// Waits for all.
    mutating func finish() throws(RootError) {
        // What one call has written, each file need not wait for; but only the file's own wait reports its errors.
        if isOrderedByAll == true, let last = waiting.last { try check(sys_sync_all(last.file.number), "syncfs") }
        while !waiting.isEmpty { try wait(for: waiting.removeFirst()) }
    }

    private func wait(for item: (file: SharedDescriptor, durably: Bool)) throws(RootError) {
        try WriteBack.wait(for: item.file.number, durably: item.durably)
    }
}
