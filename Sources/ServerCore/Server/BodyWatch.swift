import Synchronization

/// Observes whether the client of a response body takes any of it: for resources kept for that body which others want
/// too.
///
/// A client that reads, however slowly, does not lose them; one that takes nothing for ``patience`` has to give way.
package final class BodyWatch: Sendable {
    /// How long a client may take nothing while others want what is kept for it, in milliseconds.
    static let patience: Int64 = 5_000

    private struct Watched {
        weak var sink: BodySink?
    }

    private let watched = Mutex(Watched())

    package init() {}

    /// Observes the body that `writer` writes; to be called before its first byte.
    package func follow(_ writer: BodyWriter) {
        watched.withLock { $0.sink = writer.sink }
    }

    /// For how many milliseconds the client has taken nothing although more waits for it; nil while it is not waited
    /// for.
    fileprivate var stall: Int64? { watched.withLock { $0.sink }?.stall }

    /// Cuts the body off, so that what is kept for it is released.
    func giveUp() { watched.withLock { $0.sink }?.giveUp() }
}

extension Dictionary where Value == BodyWatch {
    /// Those whose clients have taken nothing lately, the longest first.
    func stalled() -> [Key] {
        compactMap { key, watch in watch.stall.map { (key, stall: $0) } }
            .filter { $0.stall >= BodyWatch.patience }
            .sorted { $0.stall > $1.stall }
            .map(\.0)
    }
}
