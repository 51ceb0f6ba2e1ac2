internal import Synchronization

/// The states of collections right before a request's first change, which also count for its later changes: the first
/// change may itself alter them.
package final class SettledCollections: Sendable {
    private struct State {
        var look: CollectionLook?
        var hasChanged = false
    }

    private let state = Mutex(State())

    /// Nil before the first change.
    var look: CollectionLook? { state.withLock { $0.hasChanged ? $0.look : nil } }

    /// Records what `look` has found out, before a change may be made.
    func keep(_ look: CollectionLook) { state.withLock { $0.look = look } }

    /// Records that a change was made.
    func changed() { state.withLock { $0.hasChanged = true } }
}
