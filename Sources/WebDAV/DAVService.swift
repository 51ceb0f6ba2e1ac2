internal import ServerCore

/// What all requests to one handler share: what is set, what bounds them together, and what one learns for the next.
final class DAVService: Sendable {
    let options: WebDAVOptions
    /// For what lists.
    let propfinds: Slots
    /// For what remembers all that it lists.
    let trees = TreeMemory()
    let selections: KnownSelections

    init(_ options: WebDAVOptions) {
        self.options = options
        propfinds = Slots(options.maxPropfinds)
        selections = KnownSelections(maxDepth: options.maxXMLDepth)
    }
}
