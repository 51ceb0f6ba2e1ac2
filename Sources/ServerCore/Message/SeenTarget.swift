package import DirectoryRoot

/// What was at an upload's target when a request began.
package struct SeenTarget: Sendable {
    private let entityTag: EntityTag?
    private let request: Request

    /// - Parameters:
    ///   - entityTag: of what was there; nil for nothing.
    ///   - request: the request.
    package init(entityTag: EntityTag?, by request: Request) {
        self.entityTag = entityTag
        self.request = request
    }

    /// Whether the upload may take the place of what is `there`; see ``Request/mayBeForsaken``.
    package func mayBeReplaced(now there: FileAttributes?) -> Bool {
        !request.mayBeForsaken || there?.entityTag == entityTag
    }
}
