/// What a write does to names, as the lock rules see it.
///
/// All paths are from the root. RFC 4918 §7.
package struct WriteUse: Equatable, Sendable {
    /// Content or properties change: a lock on the path, or one of depth infinity above it, protects.
    package var changes: [SharePath]
    /// A name is added or removed: as ``changes``, and the parent's own lock of depth 0 protects too.
    ///
    /// §7.4.
    package var bindings: [SharePath]
    /// The whole subtree is removed: as ``bindings``, and every lock below protects too.
    package var trees: [SharePath]

    package init(changes: [SharePath] = [], bindings: [SharePath] = [], trees: [SharePath] = []) {
        self.changes = changes
        self.bindings = bindings
        self.trees = trees
    }
}
