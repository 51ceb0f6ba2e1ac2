internal import ServerCore

/// What all requests to one handler have in common: the options, the limits on them together, and what one leaves for
/// the next.
final class DAVService: Sendable {
    let options: WebDAVOptions
    /// The places of PROPFINDs and REPORTs.
    let propfinds: Slots
    /// The memory of responses that keep all that they list.
    let trees = TreeMemory()
    let selections: KnownSelections

    init(_ options: WebDAVOptions) {
        self.options = options
        propfinds = Slots(options.maxPropfinds)
        selections = KnownSelections(maxDepth: options.maxXMLDepth)
    }
}
