import Dispatch
import Synchronization

/// One use of a share link, counted before it is known whether anything comes of it.
///
/// Given back when nothing does, and also when nobody ever says so: the client may leave, or the server refuse the
/// request, before a handler is asked.
final class CountedDownload: Sendable {
    private let giveBack: @Sendable () -> Void
    private let isSettled = Atomic<Bool>(false)

    /// - Parameter giveBack: waits for the disk.
    init(givingBack giveBack: @escaping @Sendable () -> Void) { self.giveBack = giveBack }

    deinit {
        guard !isSettled.load(ordering: .relaxed) else { return }
        // Who lets go of it may be an event loop.
        DispatchQueue.global(qos: .utility).async(execute: giveBack)
    }

    /// Says what has become of it, on a thread that may wait for the disk.
    /// - Parameter isDownload: whether it brings any content.
    func settle(_ isDownload: Bool) {
        guard !isSettled.exchange(true, ordering: .relaxed), !isDownload else { return }
        giveBack()
    }
}
