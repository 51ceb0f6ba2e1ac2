extension Share {
    /// Finds the listed path for a `path` whose names are listed in another Unicode normalization form: Finder requests
    /// every name in NFD, whatever a listing contained, and most other programs create names in NFC.
    ///
    /// A name that exists as written stands for itself. Waits for the disk.
    /// - Parameter path: as a client wrote it.
    /// - Returns: the path with the names that exist, and the rest unchanged; nil when it is the same.
    package func listedEquivalent(of path: SharePath) -> SharePath? {
        guard path.mayBeDecomposed, let full = try? absolute(path), let found = try? whatIsListed(of: full),
            found != full
        else { return nil }
        return found.relative(to: base)
    }

    /// Whether nothing is at `path` as written, so that ``listedEquivalent(of:)`` would have to read its folders.
    ///
    /// Waits for the disk.
    package func lacks(_ path: SharePath) -> Bool {
        guard let full = try? absolute(path) else { return true }
        return !isThere(full)
    }

    /// The same for a path from the root; returns `path` itself when nothing else is there.
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

    /// Whether something is at a path from the root; also true when unknown.
    private func isThere(_ path: SharePath) -> Bool {
        do throws(RootError) {
            _ = try look(at: path, waiting: true)
            return true
        } catch {
            return error != .notFound
        }
    }
}
