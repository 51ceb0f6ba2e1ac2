import CSyscalls

extension Share {
    /// What changes in a folder from now on, gathered over a short time, until the consumer stops.
    ///
    /// Names that this requester may not see are never reported. When the folder is moved, replaced or deleted, the
    /// stream reports ``FolderChange/all`` and ends: another folder may be in its place now, and the folder itself may
    /// be where the requester may not look.
    /// - Parameter path: a folder that this requester may list.
    /// - Returns: the changes.
    /// - Throws: as ``list(_:)``.
    public func changes(in path: SharePath) throws(RootError) -> AsyncStream<FolderChange> {
        let opened = try openVisible(absolute(path), flags: O_RDONLY | O_NONBLOCK | O_NOCTTY, waiting: true)
        guard opened.attributes.isDirectory else { throw .notDirectory }
        let folder = opened.realPath
        let directory = SharedDescriptor(opened.descriptor)
        return root.state.feed.subscribe(to: directory) { name in
            guard let path = try? folder.appending(name), root.shows(path) else { return false }
            let here = granted(at: path)
            guard maySee(path, with: here, isDirectory: true, listed: true) else { return false }
            // What may not be read is listed while it is a folder. Not looked for by the open folder: while this held
            // that, nobody would hear that it was removed.
            return here.contains(.read) || (try? look(at: path, waiting: true))?.status.isDirectory ?? true
        } isThere: { name in
            guard let member = try? path.appending(name) else { return false }
            return (try? attributes(of: member)) != nil
        }
    }
}
