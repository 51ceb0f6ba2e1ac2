internal import Synchronization

/// What was found out about collections right before a request's first change, by which its further ones go: that
/// change may be why they are no longer so.
package final class SettledCollections: Sendable {
    private struct State {
        var look: CollectionLook?
        var hasChanged = false
    }

    private let state = Mutex(State())

    /// Nil before the first change.
    var look: CollectionLook? { state.withLock { $0.hasChanged ? $0.look : nil } }

    /// A change may be made, by what `look` has found out.
    func keep(_ look: CollectionLook) { state.withLock { $0.look = look } }

    /// A change was made.
    func changed() { state.withLock { $0.hasChanged = true } }
}
