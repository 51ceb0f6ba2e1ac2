import DirectoryRoot
import Synchronization

/// The events that wait to be sent to one client, which may be slow.
///
/// Changes that do not fit are merged into one event that tells the client to read the folder again, even if nothing
/// happens after them.
final class EventQueue: Sendable {
    let events: AsyncStream<FolderEvent>
    let continuation: AsyncStream<FolderEvent>.Continuation
    private let missesChanges = Atomic(false)

    /// - Parameter most: the most events that may wait.
    init(most: Int) {
        (events, continuation) = AsyncStream.makeStream(of: FolderEvent.self, bufferingPolicy: .bufferingOldest(most))
    }

    /// Adds a change.
    func tell(_ change: FolderChange) {
        guard !add(.changed(change)) else { return }
        missesChanges.store(true, ordering: .releasing)
        // The consumer may have taken everything meanwhile: this makes it check, if there is space by now.
        add(.keepAlive)
    }

    /// Adds an event; false when there is no space.
    @discardableResult
    func add(_ event: FolderEvent) -> Bool {
        if case .dropped = continuation.yield(event) { false } else { true }
    }

    /// Whether changes were dropped since the last call: to be called after each event.
    func takeMissed() -> Bool { missesChanges.exchange(false, ordering: .acquiringAndReleasing) }
}
