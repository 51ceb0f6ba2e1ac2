import CSyscalls

/// What every write asks before it changes a name.
extension Share {
    /// The path from the root of something that may be written at all.
    ///
    /// Waits for its disk where that is a far one below the root: a change holds up all others while it is made, so a
    /// disk that hangs is met before.
    /// - Parameters:
    ///   - path: from ``base``.
    ///   - error: thrown for the shared directory itself.
    /// - Returns: the path from the root.
    /// - Throws: ``RootError/readOnly``; ``RootError/forbidden`` for names that do not exist for anybody.
    package func writable(_ path: SharePath, orElse error: RootError) throws(RootError) -> SharePath {
        guard !root.policy.isReadOnly else { throw .readOnly }
        try root.state.folder.requireOpen()
        let path = try absolute(path)
        guard !path.isRoot else { throw error }
        guard root.shows(path) else { throw .forbidden }
        root.awaitFarDisk(of: path)
        return path
    }

    /// The path of something that shall be deleted, from the root.
    /// - Throws: as ``writable(_:orElse:)``; ``RootError/selfReference`` for the root; ``RootError/forbidden`` where
    ///   the share lets nothing be deleted.
    func deletable(_ path: SharePath) throws(RootError) -> SharePath {
        guard !path.isRoot else { throw root.policy.isReadOnly ? .readOnly : .selfReference }
        let path = try writable(path, orElse: .selfReference)
        guard !root.policy.refusesDelete else { throw .forbidden }
        return path
    }

    /// The place of something that shall be written, there or not.
    /// - Throws: ``RootError/forbidden`` to a requester without any right there, who must not learn what is there
    ///   either, from a precondition that is looked at before the rights; and what keeps the place from being found.
    func locateTarget(_ path: SharePath, followsLink: Bool) throws(RootError) -> Location {
        let location: Location
        do throws(RootError) {
            location = try locateShown(path, followsLink: followsLink)
        } catch .parentMissing where !granted(at: path).contains(.create) {
            // To make the folder first would be refused, too.
            throw .forbidden
        }
        let (real, isDirectory) = (location.path, location.status?.isDirectory == true)
        guard mayKnow(path, isDirectory), path == real || mayKnow(real, isDirectory) else { throw .forbidden }
        return location
    }

    /// Whether the requester may do anything at `path`, or it is shown as the way to something.
    private func mayKnow(_ path: SharePath, _ isDirectory: Bool) -> Bool {
        granted(at: path) != .none || isDirectory && rights.leadsToReadable(below: path)
    }

    private func locateShown(_ path: SharePath, followsLink: Bool) throws(RootError) -> Location {
        let location: Location
        do throws(RootError) {
            location = try root.locate(path, followsLink: followsLink)
        } catch {
            // A requester without any right here learns nothing about parents either.
            let isSecret = granted(at: path) == .none || error == .parentMissing && leadsToSecrets(path)
            throw isSecret ? .forbidden : error
        }
        guard root.shows(location.path), base.contains(location.path) else { throw .forbidden }
        if let status = location.status, !status.isFile, !status.isDirectory {
            // A FIFO or device does not exist, but its name is taken. So is that of a link, which a write that does not
            // follow it replaces, when it leads to something.
            guard status.isLink, let found = try? look(at: location.path, waiting: true),
                FileAttributes(found.status) != nil
            else { throw .forbidden }
        }
        return location
    }

    /// The place of something that must be there.
    func locateSource(_ path: SharePath, followsLink: Bool) throws(RootError) -> Location {
        let location: Location
        do throws(RootError) {
            location = try locateShown(path, followsLink: followsLink)
        } catch {
            switch error {
            case .parentMissing: throw .notFound
            case .forbidden: throw isForbiddenByFileSystem(path) ? .forbidden : .notFound
            default: throw error
            }
        }
        guard location.status != nil else { throw .notFound }
        return location
    }

    /// Tells "you may not" from "there is no such thing".
    private func isForbiddenByFileSystem(_ path: SharePath) -> Bool {
        do throws(RootError) {
            _ = try look(at: path, waiting: true)
            return false
        } catch {
            return error == .forbidden
        }
    }

    /// - Parameters:
    ///   - wanted: the rights that it takes.
    ///   - path: as asked for.
    ///   - realPath: with links resolved.
    /// - Throws: ``RootError/forbidden``.
    func requireRights(_ wanted: Rights, at path: SharePath, _ realPath: SharePath) throws(RootError) {
        guard granted(at: path).isSuperset(of: wanted),
            path == realPath || granted(at: realPath).isSuperset(of: wanted)
        else { throw .forbidden }
    }

    /// As ``requireRights(_:at:_:)`` for the path and everything below it.
    /// - Throws: ``RootError/notFound`` to a requester without any right at one of the two, else
    ///   ``RootError/forbidden``.
    func requireRights(throughout wanted: Rights, at path: SharePath, _ realPath: SharePath) throws(RootError) {
        guard allows(wanted, throughout: path), path == realPath || allows(wanted, throughout: realPath)
        else {
            throw granted(at: path) == .none || granted(at: realPath) == .none ? .notFound : .forbidden
        }
    }

    /// Applies a precondition to what is there; a link counts as what it points at.
    func requireMatch(_ replacing: Replacement, _ status: sys_attributes?) throws(RootError) {
        switch replacing {
        case .nothing: if status != nil { throw .exists }
        case .anything: break
        case .when(let holds):
            guard holds(status.flatMap { FileAttributes($0) }) else { throw .preconditionFailed }
        }
    }

    /// Everything that decides whether a file may be written at a place.
    func requireFileTarget(
        _ location: borrowing Location, asked path: SharePath, _ replacing: Replacement
    ) throws(RootError) {
        let status = location.status
        if let status, status.isDirectory { throw .isDirectory }
        let mayFill = status.map { location.path == path && self.mayFill($0, at: path) } ?? false
        if status != nil, !mayFill, !granted(at: path).contains(.read) {
            do throws(RootError) {
                try requireReplaceable(location, asked: path)
            } catch {
                // Whether a condition holds for another's file would tell about it: here it holds, or not, for any.
                try requireMatch(replacing, Self.unknownFile)
                throw error
            }
        }
        try requireMatch(replacing, status)
        if !mayFill { try requireReplaceable(location, asked: path) }
        try checkLocks(status == nil ? WriteUse(bindings: [location.path]) : WriteUse(changes: [location.path]))
    }

    /// A file of which nothing is told.
    private static var unknownFile: sys_attributes {
        var status = sys_attributes()
        status.mode = 0o100000
        return status
    }

    /// Rights and policy for a new or a replaced name.
    func requireReplaceable(_ location: borrowing Location, asked path: SharePath) throws(RootError) {
        guard location.status != nil else { return try requireNewName(path, location.path, isDirectory: false) }
        try requireRights(.overwrite, at: path, location.path)
        guard root.policy.refusesOverwrite, let old = location.status else { return }
        // Mounted drives make a file before they fill it: nothing is lost by that.
        guard old.isFile, old.size == 0 else { throw .forbidden }
    }

    /// Rights and policy for a new name, of which only files need an allowed extension.
    func requireNewName(_ path: SharePath, _ realPath: SharePath, isDirectory: Bool) throws(RootError) {
        try requireRights(.create, at: path, realPath)
        guard isDirectory || root.policy.allowsExtension(of: path.name) else {
            throw .endingRefused(allowed: root.policy.allowedExtensions)
        }
    }
}

extension DirectoryRoot {
    /// Bytes that uploads to the root's own disk leave free.
    var freeSpaceReserve: Int64 { max(0, policy.minFreeSpace, state.folder.heldBack) }

    /// Refuses what would not fit, or would touch the reserve of free space; nothing where the file system does not
    /// say.
    func requireSpace(for size: Int64, at descriptor: Int32) throws(RootError) {
        var reserve = freeSpaceReserve
        if state.folder.heldBack > 0, scratch.isElsewhere(descriptor) { reserve = max(0, policy.minFreeSpace) }
        guard size > 0 || reserve > 0 else { return }
        var space = sys_space()
        try unsafe check(sys_space(descriptor, &space), "fstatvfs")
        guard space.is_known != 0 else { return }
        let (needed, overflow) = max(0, size).addingReportingOverflow(reserve)
        guard !overflow, UInt64(needed) <= space.available else { throw .noSpace }
    }
}
