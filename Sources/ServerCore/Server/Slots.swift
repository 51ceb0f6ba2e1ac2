import Synchronization

/// A limited number of places for concurrent work.
///
/// When all places are taken, one whose client takes nothing of its response loses its place: otherwise some hundred
/// clients that read a byte now and then would keep all others out.
package final class Slots: Sendable {
    private let count: Int
    /// How many are taken.
    ///
    /// Not counted under a lock: every listing takes a place, and threads that wait for each other cost more than a
    /// small listing.
    private let taken = Atomic<Int>(0)
    /// The watches of those who have a place and whose clients take the response while it is produced.
    private let watches = Mutex<[ObjectIdentifier: BodyWatch]>([:])

    /// `count` places.
    package init(_ count: Int) { self.count = max(0, count) }

    /// Takes a place, released with the token; nil when all are taken by clients that read.
    package func take() -> Token? {
        var now = taken.load(ordering: .relaxed)
        while now < count {
            let (isTaken, found) = taken.weakCompareExchange(expected: now, desired: now + 1, ordering: .relaxed)
            if isTaken { return Token(slots: self) }
            now = found
        }
        let loser = watches.withLock { watches in watches.stalled().first.flatMap { watches.removeValue(forKey: $0) } }
        guard let loser else { return nil }
        loser.giveUp()
        return Token(slots: self)
    }

    /// One taken place.
    package final class Token: Sendable {
        private let slots: Slots
        /// Observes the body for which the place is kept; see ``follow(_:)``.
        package let watch = BodyWatch()
        private let isFollowing = Atomic<Bool>(false)

        fileprivate init(slots: Slots) { self.slots = slots }

        /// Gives the place away when it is needed and the client takes nothing of this body; to be called before its
        /// first byte.
        package func follow(_ writer: BodyWriter) {
            watch.follow(writer)
            isFollowing.store(true, ordering: .relaxed)
            slots.watches.withLock { $0[ObjectIdentifier(watch)] = watch }
        }

        /// Whether so many are taken that each should use less memory than it would alone.
        package var isCrowded: Bool { slots.taken.load(ordering: .relaxed) > 16 }

        deinit {
            if isFollowing.load(ordering: .relaxed) {
                let id = ObjectIdentifier(watch)
                // The place is someone else's already.
                guard slots.watches.withLock({ $0.removeValue(forKey: id) }) != nil else { return }
            }
            slots.taken.wrappingSubtract(1, ordering: .relaxed)
        }
    }
}
