import DirectoryRoot
import Dispatch
import Synchronization

/// One use of a share link, counted before it is known whether it succeeds.
///
/// The use is returned if it does not succeed, and also if its result is never reported: the client may disconnect, or
/// the server may refuse the request, before a handler is called.
final class CountedDownload: Sendable {
    private let open: DispatchGroup
    private let giveBack: @Sendable () -> Void
    private let isSettled = Atomic<Bool>(false)

    /// - Parameters:
    ///   - open: includes this use until it is settled or given back.
    ///   - giveBack: waits for the disk.
    init(among open: DispatchGroup, givingBack giveBack: @escaping @Sendable () -> Void) {
        self.open = open
        self.giveBack = giveBack
        open.enter()
    }

    deinit {
        guard !isSettled.load(ordering: .relaxed) else { return }
        // The last reference may be released on an event loop. Without a thread, the use counts as one that succeeded.
        let isStarted = OwnThread.start("give back") { [open, giveBack] in
            giveBack()
            open.leave()
        }
        if !isStarted { open.leave() }
    }

    /// Reports the result, on a thread that may wait for the disk.
    /// - Parameter isDownload: whether the response has content that counts.
    func settle(_ isDownload: Bool) {
        guard !isSettled.exchange(true, ordering: .relaxed) else { return }
        if !isDownload { giveBack() }
        open.leave()
    }
}
