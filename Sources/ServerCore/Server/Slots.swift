import Synchronization

/// A number of things that may go on at once.
package final class Slots: Sendable {
    private let count: Int
    private let free: Mutex<Int>

    /// `count` things at once.
    package init(_ count: Int) {
        self.count = max(0, count)
        free = Mutex(self.count)
    }

    /// Takes a place, given back when the token goes; nil when all are taken.
    package func take() -> Token? {
        let isTaken = free.withLock { free in
            guard free > 0 else { return false }
            free -= 1
            return true
        }
        return isTaken ? Token(slots: self) : nil
    }

    /// One taken place.
    package final class Token: Sendable {
        private let slots: Slots

        fileprivate init(slots: Slots) { self.slots = slots }

        /// Whether so many are taken that each should hold less memory than it would alone.
        package var isCrowded: Bool { slots.count - slots.free.withLock { $0 } > 16 }

        deinit { slots.free.withLock { $0 += 1 } }
    }
}
