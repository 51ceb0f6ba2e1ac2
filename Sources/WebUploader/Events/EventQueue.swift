import DirectoryRoot
import Synchronization

/// What waits to be told to one client, who may be slow to listen.
///
/// Changes that find no room are told as one, to read the folder again, though nothing may happen after them.
final class EventQueue: Sendable {
    let events: AsyncStream<FolderEvent>
    let continuation: AsyncStream<FolderEvent>.Continuation
    private let missesChanges = Atomic(false)

    /// - Parameter most: events that wait.
    init(most: Int) {
        (events, continuation) = AsyncStream.makeStream(of: FolderEvent.self, bufferingPolicy: .bufferingOldest(most))
    }

    /// Adds a change.
    func tell(_ change: FolderChange) {
        guard !add(.changed(change)) else { return }
        missesChanges.store(true, ordering: .releasing)
        // The consumer may have taken all that waited in between: this has it look, where there is room by now.
        add(.keepAlive)
    }

    /// Adds an event; false when there is no room.
    @discardableResult
    func add(_ event: FolderEvent) -> Bool {
        if case .dropped = continuation.yield(event) { false } else { true }
    }

    /// Whether changes were left out since this was asked: to be asked after each event.
    func takeMissed() -> Bool { missesChanges.exchange(false, ordering: .acquiringAndReleasing) }
}
