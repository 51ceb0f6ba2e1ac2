package import DirectoryRoot
import Synchronization

/// The memory that responses about whole trees, of one kind, use while they are sent: the names of everything in them.
///
/// However many clients download large folders, all of that together is limited, and so is what synchronising takes.
/// The first 256 KiB of each response are not counted, so that ordinary folders proceed, and a single response may use
/// as much as it needs.
package final class TreeMemory: Sendable {
    /// How many bytes of each response are not counted: some three thousand files.
    package static let free = 256 * 1024

    private let most: Int
    private let used = Mutex(Used())

    private struct Used {
        var bytes = 0
        /// The responses that hold counted bytes; the bytes of the others are released with their portions.
        var portions: [ObjectIdentifier: Int] = [:]
        var watches: [ObjectIdentifier: BodyWatch] = [:]

        /// The responses that give way to `id`, so that it may hold `counted` bytes instead of `held`.
        /// - Returns: nil when too few can.
        func losers(
            for counted: Int, insteadOf held: Int, of id: ObjectIdentifier, _ most: Int
        ) -> [ObjectIdentifier]? {
            var losers: [ObjectIdentifier] = []
            var others = bytes - held
            guard others > 0, others + counted > most else { return losers }
            for stalled in watches.filter({ $0.key != id }).stalled() {
                losers.append(stalled)
                others -= portions[stalled] ?? 0
                if others == 0 || others + counted <= most { return losers }
            }
            return nil
        }

        mutating func remove(_ id: ObjectIdentifier) {
            bytes -= portions.removeValue(forKey: id) ?? 0
            watches[id] = nil
        }
    }

    /// A budget of `bytes` in all; nil for 64 MiB, or less on a machine with little memory.
    package init(_ bytes: Int? = nil) { most = bytes ?? UsableMemory.part(64 << 20, oneIn: 16) }

    /// Begins to count what one response holds.
    ///
    /// - Parameter watch: given the response's body, so that it can give way to others; nil if there is none.
    /// - Returns: a portion that holds nothing yet.
    package func portion(watch: BodyWatch? = nil) -> Portion { Portion(self, watch) }

    /// What one response holds; released with this object.
    package final class Portion: Sendable {
        private let memory: TreeMemory
        private let watch: BodyWatch?
        /// Whether it has held counted bytes: few do, and all others need no lock.
        private let isCounted = Atomic<Bool>(false)

        fileprivate init(_ memory: TreeMemory, _ watch: BodyWatch?) {
            self.memory = memory
            self.watch = watch
        }

        deinit {
            guard isCounted.load(ordering: .relaxed) else { return }
            let id = ObjectIdentifier(self)
            memory.used.withLock { $0.remove(id) }
        }

        /// Sets the number of bytes that the response holds now.
        ///
        /// If there is not enough memory, responses whose clients take nothing give way.
        /// - Throws: ``RootError/tooMany`` when there is not enough for more; then nothing has changed for this one.
        package func hold(_ bytes: Int) throws(RootError) {
            let counted = max(0, bytes - TreeMemory.free)
            guard counted > 0 || isCounted.load(ordering: .relaxed) else { return }
            isCounted.store(true, ordering: .relaxed)
            let id = ObjectIdentifier(self)
            let losers = memory.used.withLock { used -> [BodyWatch]? in
                let held = used.portions[id] ?? 0
                guard counted != held else { return [] }
                let losers = counted > held ? used.losers(for: counted, insteadOf: held, of: id, memory.most) : []
                guard let losers else { return nil }
                let watches = losers.compactMap { used.watches[$0] }
                for loser in losers { used.remove(loser) }
                used.remove(id)
                if counted > 0 {
                    used.bytes += counted
                    used.portions[id] = counted
                    used.watches[id] = watch
                }
                return watches
            }
            guard let losers else { throw .tooMany }
            for loser in losers { loser.giveUp() }
        }
    }
}
