package import DirectoryRoot
import Synchronization

/// Memory for what answers of one kind about whole trees hold while they are sent: the names of everything in them.
///
/// However many people download large folders, all of that together is bounded, and so is what synchronising takes.
/// The first 256 KiB of each answer are not counted, so that ordinary folders go on, and one that is alone may hold as
/// much as it needs.
package final class TreeMemory: Sendable {
    /// Bytes of each answer that are not counted: some three thousand files.
    package static let free = 256 * 1024

    private let most: Int
    private let used = Mutex(Used())

    private struct Used {
        var bytes = 0
        /// Of those who hold what is counted; the others' bytes go with their portions.
        var portions: [ObjectIdentifier: Int] = [:]
        var watches: [ObjectIdentifier: BodyWatch] = [:]

        mutating func remove(_ id: ObjectIdentifier) {
            bytes -= portions.removeValue(forKey: id) ?? 0
            watches[id] = nil
        }
    }

    /// Room for `bytes` in all.
    package init(_ bytes: Int = 64 << 20) { most = bytes }

    /// Where one answer says what it holds.
    ///
    /// - Parameter watch: told of the answer's body, so that it can give way to others; nil where there is none.
    /// - Returns: a portion that holds nothing yet.
    package func portion(watch: BodyWatch? = nil) -> Portion { Portion(self, watch) }

    /// What one answer holds; given back when it goes.
    package final class Portion: Sendable {
        private let memory: TreeMemory
        private let watch: BodyWatch?

        fileprivate init(_ memory: TreeMemory, _ watch: BodyWatch?) {
            self.memory = memory
            self.watch = watch
        }

        deinit {
            let id = ObjectIdentifier(self)
            memory.used.withLock { $0.remove(id) }
        }

        /// Counts that the answer holds `bytes` now.
        ///
        /// Where there is no room, answers whose clients take nothing give way.
        /// - Throws: ``RootError/tooMany`` when there is no room for more; then nothing has changed for this one.
        package func hold(_ bytes: Int) throws(RootError) {
            let counted = max(0, bytes - TreeMemory.free)
            let id = ObjectIdentifier(self)
            var losers: [BodyWatch] = []
            let hasRoom = memory.used.withLock { used in
                let held = used.portions[id] ?? 0
                guard counted != held else { return true }
                while counted > held, used.bytes > held, used.bytes - held + counted > memory.most {
                    let others = used.watches.filter { $0.key != id }
                    guard let stalled = others.longestStalled(), let loser = others[stalled] else { return false }
                    used.remove(stalled)
                    losers.append(loser)
                }
                used.bytes += counted - held
                used.portions[id] = counted
                used.watches[id] = watch
                return true
            }
            for loser in losers { loser.giveUp() }
            guard hasRoom else { throw .tooMany }
        }
    }
}
