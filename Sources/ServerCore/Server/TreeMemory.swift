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
    private let used = Mutex(0)

    /// Room for `bytes` in all.
    package init(_ bytes: Int = 64 << 20) { most = bytes }

    /// Where one answer says what it holds.
    package func portion() -> Portion { Portion(self) }

    /// What one answer holds; given back when it goes.
    package final class Portion: Sendable {
        private let memory: TreeMemory
        private let held = Mutex(0)

        fileprivate init(_ memory: TreeMemory) { self.memory = memory }

        deinit {
            let held = held.withLock { $0 }
            memory.used.withLock { $0 -= held }
        }

        /// Counts that the answer holds `bytes` now.
        /// - Throws: ``RootError/tooMany`` when there is no room for more; then nothing has changed.
        package func hold(_ bytes: Int) throws(RootError) {
            let counted = max(0, bytes - TreeMemory.free)
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
