import CSyscalls

extension Share {
    /// The path from the root that a path of this view stands for.
    package func absolute(_ path: SharePath) throws(RootError) -> SharePath {
        try base.isRoot ? path : base.appending(path)
    }

    /// Whether the requester may learn that something is at `path` (from the root).
    /// - Parameters:
    ///   - path: from the root, with links resolved.
    ///   - isDirectory: whether a directory is there.
    ///   - listed: in a listing, a directory shows only when it or something below it may be read, or when a rule
    ///     names it, so that people find a drop box and do not see what others have brought there. A directory that is
    ///     asked for by name also shows to anyone with any right there: an upload to a drop box begins by looking at
    ///     it.
    /// - Returns: false when the place does not exist for this requester.
    func maySee(_ path: SharePath, isDirectory: Bool, listed: Bool = false) -> Bool {
        maySee(path, with: granted(at: path), isDirectory: isDirectory, listed: listed)
    }

    /// The same when the requester's rights there are already known.
    func maySee(_ path: SharePath, with here: Rights, isDirectory: Bool, listed: Bool) -> Bool {
        if here.contains(.read) { return true }
        guard isDirectory else { return false }
        return here != .none && (!listed || rights.names(path)) || rights.leadsToReadable(below: path)
    }

    /// The error for a requester who may not read at `path`: where nothing at all is allowed, nothing exists.
    func refusal(at path: SharePath) -> RootError {
        granted(at: path) == .none ? .notFound : .forbidden
    }

    /// Whether a path at which nothing was found leads through a link to a place where nothing is allowed.
    ///
    /// What is missing there must look the same as what exists.
    /// - Parameter path: from the root.
    /// - Returns: false also when that can't be found out.
    func leadsToSecrets(_ path: SharePath) -> Bool {
        guard !rights.isUniform(below: base) else { return false }
        var folder = path
        while !folder.isRoot {
            folder = folder.parent
            guard let found = try? root.resolver.open(folder, flags: sys_o_path) else { continue }
            guard let real = found.realPath else { return false }
            let rest = path.components.dropFirst(folder.components.count)
            return granted(at: rest.reduce(real) { $0.appendingIfFits(Array($1)) }) == .none
        }
        return false
    }

    /// Whether `path` is free, without even a dangling link, in a folder where this requester may add names.
    ///
    /// - Returns: false also when a link on the way leads to where nothing may be added: there, what exists and what
    ///   does not must look the same.
    private func isFree(_ path: SharePath) -> Bool {
        do throws(RootError) {
            let location = try root.locate(path, followsLink: false)
            guard location.status == nil else { return false }
            return location.path == path
                || root.shows(location.path) && base.contains(location.path)
                    && granted(at: location.path).contains(.create)
        } catch {
            // In a folder that does not exist, every name is free.
            return error == .parentMissing && granted(at: path.parent).contains(.create) && isFree(path.parent)
        }
    }

    /// Applies this view's rules to the real path that a link led to.
    func admit(_ path: SharePath) throws(RootError) {
        guard root.shows(path), base.contains(path) else { throw .notFound }
    }

    /// Opens what is at `path` for this requester: checks hidden names, `base` and rights, behind a link also at its
    /// target.
    /// - Parameters:
    ///   - path: from the root.
    ///   - flags: of `open`.
    ///   - waiting: false to throw ``RootError/wouldBlock`` instead of waiting.
    /// - Returns: the open thing, and where it really is.
    /// - Throws: ``RootError/notFound``, or ``RootError/forbidden`` where the requester may do something, but not read.
    func openVisible(
        _ path: SharePath, flags: Int32, waiting: Bool
    ) throws(RootError) -> Visible {
        guard waiting || !rights.mayMean(path) && !root.hiddenSpellings.mayHave(path) else { throw .wouldBlock }
        guard root.shows(path) else { throw .notFound }
        let mayRead = granted(at: path).contains(.read)
        do throws(RootError) {
            let opened = try root.resolver.open(path, flags: flags, waiting: waiting)
            if let real = opened.realPath { try admit(real) }
            let realPath = opened.realPath ?? path
            guard let attributes = FileAttributes(try opened.descriptor.status()) else { throw .notFound }
            let isOwn =
                !mayRead && opened.realPath == nil && flags == sys_o_path && hasBrought(attributes, to: path)
            guard mayRead || isOwn || maySee(path, isDirectory: attributes.isDirectory) else {
                throw refusal(at: path)
            }
            // Behind a link, a hidden name that exists must be refused in the same way as one that does not.
            guard opened.realPath == nil || maySee(realPath, isDirectory: attributes.isDirectory) else {
                throw .notFound
            }
            return Visible(descriptor: opened.descriptor, attributes: attributes, realPath: realPath)
        } catch {
            if mayRead || error == .wouldBlock || error == .rootGone { throw error }
            // A requester who may add names finds out anyway whether one is free, and programs look before they write.
            if error == .notFound, granted(at: path).contains(.create) {
                guard waiting else { throw .wouldBlock }
                if isFree(path) { throw .notFound }
            }
            // A requester who may not read here must not learn what exists either.
            throw refusal(at: path)
        }
    }

    /// What is at `path` from the root, following links that stay inside, without opening it for reading.
    func look(
        at path: SharePath, waiting: Bool
    ) throws(RootError) -> (status: sys_attributes, realPath: SharePath) {
        let opened = try root.resolver.open(path, flags: sys_o_path, waiting: waiting)
        if let real = opened.realPath { try admit(real) }
        return (try opened.descriptor.status(), opened.realPath ?? path)
    }
}

/// Something open that a requester may see.
struct Visible: ~Copyable {
    let descriptor: Descriptor
    let attributes: FileAttributes
    /// From the root, with links resolved.
    let realPath: SharePath
}
