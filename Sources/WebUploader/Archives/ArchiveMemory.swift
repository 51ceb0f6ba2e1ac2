import DirectoryRoot
import Synchronization

/// Memory for the plans of all archives that are being sent: each holds the names of everything in it.
///
/// However many people download large folders, all of it together is bounded. The first 256 KiB of each plan are not
/// counted, so that ordinary folders go on, and a plan that is alone may be as large as it gets.
final class ArchiveMemory: Sendable {
    /// Bytes of each plan that are not counted: some three thousand files.
    static let free = 256 * 1024

    private let most: Int
    private let used = Mutex(0)

    /// Room for `bytes` in all.
    init(_ bytes: Int = 64 << 20) { most = bytes }

    /// Where one plan says what it holds.
    func portion() -> Portion { Portion(self) }

    /// What one plan holds; given back when it goes.
    final class Portion: Sendable {
        private let memory: ArchiveMemory
        private let held = Mutex(0)

        fileprivate init(_ memory: ArchiveMemory) { self.memory = memory }

        deinit {
            let held = held.withLock { $0 }
            memory.used.withLock { $0 -= held }
        }

        /// Counts that the plan holds `bytes` now.
        /// - Throws: ``RootError/tooMany`` when there is no room for more; then nothing has changed.
        func hold(_ bytes: Int) throws(RootError) {
            let counted = max(0, bytes - ArchiveMemory.free)
            let hasRoom = held.withLock { held in
                memory.used.withLock { used in
                    let others = used - held
                    guard counted <= held || others == 0 || others + counted <= memory.most else { return false }
                    used = others + counted
                    held = counted
                    return true
                }
            }
            guard hasRoom else { throw .tooMany }
        }
    }
}
