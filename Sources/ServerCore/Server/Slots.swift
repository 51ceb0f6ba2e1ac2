import Synchronization

/// A limited number of places for concurrent work.
///
/// When all places are taken, one whose client takes nothing of its response loses its place: otherwise some hundred
/// clients that read a byte now and then would keep all others out.
package final class Slots: Sendable {
    private let count: Int
    /// The watches of those who have a place.
    private let watches = Mutex<[ObjectIdentifier: BodyWatch]>([:])

    /// `count` places.
    package init(_ count: Int) { self.count = max(0, count) }

    /// Takes a place, released with the token; nil when all are taken by clients that read.
    package func take() -> Token? {
        let watch = BodyWatch()
        var loser: BodyWatch?
        let isTaken = watches.withLock { watches in
            if watches.count >= count {
                guard let stalled = watches.stalled().first else { return false }
                loser = watches.removeValue(forKey: stalled)
            }
            watches[ObjectIdentifier(watch)] = watch
            return true
        }
        loser?.giveUp()
        return isTaken ? Token(slots: self, watch: watch) : nil
    }

    /// One taken place.
    package final class Token: Sendable {
        private let slots: Slots
        /// To be given the body for which the place is kept; without one, nobody else can take the place.
        package let watch: BodyWatch

        fileprivate init(slots: Slots, watch: BodyWatch) {
            self.slots = slots
            self.watch = watch
        }

        /// Whether so many are taken that each should use less memory than it would alone.
        package var isCrowded: Bool { slots.watches.withLock { $0.count } > 16 }

        deinit {
            let id = ObjectIdentifier(watch)
            _ = slots.watches.withLock { $0.removeValue(forKey: id) }
        }
    }
}
