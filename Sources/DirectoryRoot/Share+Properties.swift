extension Share {
    /// All dead properties of a resource, in the order of their first setting; empty at no cost when there are none.
    public func properties(of path: SharePath) throws(RootError) -> [DeadProperty] { fatalError() }

    /// Applies all changes in order, or none.
    public func updateProperties(of path: SharePath, _ changes: [PropertyChange]) throws(RootError) { fatalError() }
}
