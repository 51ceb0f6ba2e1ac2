package import DirectoryRoot

/// What was at an upload's target when a request began.
package struct SeenTarget: Sendable {
    private let entityTag: EntityTag?
    /// Whether it came after the request: the disk, or a thread for it, can have been waited for.
    private let isNewer: Bool
    private let request: Request

    /// - Parameters:
    ///   - attributes: of what was there; nil for nothing.
    ///   - request: the request.
    package init(_ attributes: FileAttributes?, by request: Request) {
        entityTag = attributes?.entityTag
        // What came just before the request is never taken for newer: the kernel's own clock for files is some
        // milliseconds behind.
        isNewer = attributes.map { $0.changed > request.storage.arrived } ?? false
        self.request = request
    }

    /// Whether the upload may take the place of what is `there`; see ``Request/mayBeForsaken``.
    package func mayBeReplaced(now there: FileAttributes?) -> Bool {
        !request.mayBeForsaken || !isNewer && there?.entityTag == entityTag
    }
}
