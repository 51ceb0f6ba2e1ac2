/// Files whose data is on its way to the disk, so that many small ones wait together and not one after the other.
struct WriteBackQueue: ~Copyable {
    private static let most = 32
    private var waiting: [(file: SharedDescriptor, durably: Bool)] = []

    /// Starts writing a file back; waits for an earlier one when many are under way.
    mutating func add(_ file: consuming Descriptor, durably: Bool) throws(RootError) {
        WriteBack.start(file.number)
        waiting.append((SharedDescriptor(file), durably))
        if waiting.count >= Self.most { try wait(for: waiting.removeFirst()) }
    }

    /// Waits for all.
    mutating func finish() throws(RootError) {
        while !waiting.isEmpty { try wait(for: waiting.removeFirst()) }
    }

    private func wait(for item: (file: SharedDescriptor, durably: Bool)) throws(RootError) {
        try WriteBack.wait(for: item.file.number, durably: item.durably)
    }
}
