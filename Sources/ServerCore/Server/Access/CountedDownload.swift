import DirectoryRoot
import Synchronization

/// One use of a share link, counted before it is known whether it succeeds.
///
/// The use is returned if it does not succeed, and also if its result is never reported: the client may disconnect, or
/// the server may refuse the request, before a handler is called.
final class CountedDownload: Sendable {
    private let giveBack: @Sendable () -> Void
    private let isSettled = Atomic<Bool>(false)

    /// - Parameter giveBack: waits for the disk.
    init(givingBack giveBack: @escaping @Sendable () -> Void) { self.giveBack = giveBack }

    deinit {
        guard !isSettled.load(ordering: .relaxed) else { return }
        // The last reference may be released on an event loop. Without a thread, the use counts as one that succeeded.
        _ = OwnThread.start("give back", giveBack)
    }

    /// Reports the result, on a thread that may wait for the disk.
    /// - Parameter isDownload: whether the response has any content.
    func settle(_ isDownload: Bool) {
        guard !isSettled.exchange(true, ordering: .relaxed), !isDownload else { return }
        giveBack()
    }
}
