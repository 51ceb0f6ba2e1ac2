package import DirectoryRoot
import Synchronization

/// When a request came, and from where, compared with what others do to the same file.
package struct RequestArrival: Sendable {
    /// In the order of the changes that this process makes.
    package let moment: RecentCommits.Moment
    /// For changes by others.
    package let time: Timestamp
    /// The same for requests of which one begins after the other has ended: those on a connection of HTTP/1.
    package let origin: UInt64

    private static let origins = Atomic<UInt64>(0)

    /// A new ``origin``.
    static func newOrigin() -> UInt64 { origins.add(1, ordering: .relaxed).newValue }

    /// Now.
    /// - Parameters:
    ///   - origin: where the request came from; 0 when that is not known.
    ///   - moment: the latest at which it can have come. ``time`` is now all the same: what its client has changed since
    ///     then, on the same connection, must not seem newer.
    package init(from origin: UInt64 = 0, notAfter moment: RecentCommits.Moment = .now) {
        self.moment = moment
        time = .now
        self.origin = origin
    }
}
