package import DirectoryRoot

/// What was at an upload's target when a request began.
package struct SeenTarget: Sendable {
    private let entityTag: EntityTag?
    /// Whether, by its times, it came after the request: the disk, or a thread for it, can have been waited for.
    private let seemsNewer: Bool
    private let request: Request

    /// - Parameters:
    ///   - attributes: of what was there; nil for nothing.
    ///   - request: the request.
    package init(_ attributes: FileAttributes?, by request: Request) {
        entityTag = attributes?.entityTag
        let arrival = request.storage.arrival
        // What came just before the request is never taken for newer: the kernel's own clock for files is some
        // milliseconds behind. A time that is still to come tells of another clock.
        seemsNewer = attributes.map { $0.changed > arrival.time && $0.changed <= .now } ?? false
        self.request = request
    }

    /// Looks at the target now, waiting for the disk; nil where it can't be seen.
    /// - Parameters:
    ///   - path: of the target.
    ///   - request: the request.
    package init?(at path: SharePath, by request: Request) {
        do throws(RootError) {
            self.init(try request.share.attributes(of: path), by: request)
        } catch {
            guard error.meansAbsent else { return nil }
            self.init(nil, by: request)
        }
    }

    /// Whether the upload may take the place of what is `there`; see ``Request/mayBeForsaken``.
    package func mayBeReplaced(now there: FileAttributes?) -> Bool {
        guard request.mayBeForsaken else { return true }
        let (arrival, commits) = (request.storage.arrival, request.share.root.recentCommits)
        let isNewer = there.flatMap {
            commits.hasCome($0.entityTag, after: arrival.moment, exceptFrom: arrival.origin)
        }
        // What was stored long ago may have been moved here, or restored, just now.
        return !(isNewer ?? seemsNewer) && there?.entityTag == entityTag
    }
}
