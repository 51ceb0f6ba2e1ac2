extension Share {
    /// Where what `path` means is listed, if its letters are put together otherwise there: Finder asks for the name of
    /// every file in parts, whatever a listing said, and most other programs make names of whole letters.
    ///
    /// A name that is there as it is written stands for itself. Waits for the disk.
    /// - Parameter path: as a client wrote it.
    /// - Returns: the path with the names that are there, and the rest as it was; nil when it is the same.
    package func listedEquivalent(of path: SharePath) -> SharePath? {
        guard path.mayBeDecomposed, let full = try? absolute(path), let found = try? whatIsListed(of: full),
            found != full
        else { return nil }
        return found.relative(to: base)
    }

    /// Whether nothing is at `path` as it is written, so that its folders have to be read for
    /// ``listedEquivalent(of:)``.
    ///
    /// Waits for the disk.
    package func lacks(_ path: SharePath) -> Bool {
        guard let full = try? absolute(path) else { return true }
        return !isThere(full)
    }

    /// The same of a path from the root; itself where nothing else is there.
    private func whatIsListed(of path: SharePath) throws(RootError) -> SharePath {
        var known = SharePath.root
        var rest = path.components[...]
        while let name = rest.popFirst() {
            let written = try known.appending(name)
            if !SharePath(unchecked: Array(name)).mayBeDecomposed || isThere(written) {
                known = written
            } else if let listed = try FolderNames(of: known, by: root.resolver).listedEquivalent(of: name) {
                known = try known.appending(listed)
            } else {
                for name in [name] + rest { known = try known.appending(name) }
                break
            }
        }
        return known
    }

    /// Whether anything is at a path from the root, or may be.
    private func isThere(_ path: SharePath) -> Bool {
        do throws(RootError) {
            _ = try look(at: path, waiting: true)
            return true
        } catch {
            return error != .notFound
        }
    }
}
