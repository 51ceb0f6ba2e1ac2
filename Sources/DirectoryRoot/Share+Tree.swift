extension Share {
    /// Copies a file or a tree (`recursive`), with dead properties and without locks, built beside and swapped in.
    /// - Returns: whether the target is new, and the members that could not be copied.
    public func copy(
        _ source: SharePath, to target: SharePath, recursive: Bool = true, replacing: Replacement
    ) throws(RootError) -> TransferResult { fatalError() }

    /// Moves a file or tree: one rename, or copy and delete across file systems. Locks of the source end.
    public func move(
        _ source: SharePath, to target: SharePath, replacing: Replacement
    ) throws(RootError) -> TransferResult { fatalError() }

    /// Removes a file or tree with its locks and properties.
    /// - Returns: the members that could not be removed; empty when all is gone.
    public func remove(
        _ path: SharePath, when precondition: Replacement = .anything
    ) throws(RootError) -> [MemberFailure] { fatalError() }
}
