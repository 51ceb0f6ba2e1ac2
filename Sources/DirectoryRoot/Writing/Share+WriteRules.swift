import CSyscalls

/// What every write checks before it changes a name.
extension Share {
    /// The path from the root of something that may be written at all.
    ///
    /// Waits for its disk if that is a far one below the root: a change holds up all others while it is made, so a disk
    /// that hangs must block before that.
    /// - Parameters:
    ///   - path: from ``base``.
    ///   - error: thrown for the shared directory itself.
    /// - Returns: the path from the root.
    /// - Throws: ``RootError/readOnly``; ``RootError/forbidden`` for hidden, reserved and refused names.
    package func writable(_ path: SharePath, orElse error: RootError) throws(RootError) -> SharePath {
        guard !root.policy.isReadOnly else { throw .readOnly }
        try root.state.folder.requireOpen()
        let path = try absolute(path)
        guard !path.isRoot else { throw error }
        guard root.shows(path) else { throw .forbidden }
        root.awaitFarDisk(of: path)
        return path
    }

    /// The path from the root of something that is to be deleted.
    /// - Throws: as ``writable(_:orElse:)``; ``RootError/selfReference`` for the root; ``RootError/forbidden`` if the
    ///   policy forbids deleting.
    func deletable(_ path: SharePath) throws(RootError) -> SharePath {
        guard !path.isRoot else { throw root.policy.isReadOnly ? .readOnly : .selfReference }
        let path = try writable(path, orElse: .selfReference)
        guard !root.policy.refusesDelete else { throw .forbidden }
        return path
    }

    /// The place of something that is to be written, whether it exists or not.
    /// - Throws: ``RootError/forbidden`` for a requester without any right there, who must not learn what exists
    ///   either, from a precondition that is checked before the rights; and what prevents finding the place.
    func locateTarget(_ path: SharePath, followsLink: Bool) throws(RootError) -> Location {
        let location: Location
        do throws(RootError) {
            location = try locateShown(path, followsLink: followsLink)
        } catch .parentMissing where !granted(at: path).contains(.create) {
            // Creating the folder first would be refused too.
            throw .forbidden
        }
        let (real, isDirectory) = (location.path, location.status?.isDirectory == true)
        guard mayKnow(path, isDirectory), path == real || mayKnow(real, isDirectory) else { throw .forbidden }
        return location
    }

    /// Whether the requester has any right at `path`, or may see it as the way to something readable.
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
            // A FIFO or device does not exist for clients, but its name is taken. The same holds for a link; a write
            // that does not follow links replaces one only if it leads to something.
            guard status.isLink, let found = try? look(at: location.path, waiting: true),
                FileAttributes(found.status) != nil
            else { throw .forbidden }
        }
        return location
    }

    /// The place of something that must exist.
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

    /// Distinguishes "forbidden" from "not found".
    private func isForbiddenByFileSystem(_ path: SharePath) -> Bool {
        do throws(RootError) {
            _ = try look(at: path, waiting: true)
            return false
        } catch {
            return error == .forbidden
        }
    }

    /// - Parameters:
    ///   - wanted: the required rights.
    ///   - path: as requested.
    ///   - realPath: with links resolved.
    /// - Throws: ``RootError/forbidden``.
    func requireRights(_ wanted: Rights, at path: SharePath, _ realPath: SharePath) throws(RootError) {
        guard granted(at: path).isSuperset(of: wanted),
            path == realPath || granted(at: realPath).isSuperset(of: wanted)
        else { throw .forbidden }
    }

    /// As ``requireRights(_:at:_:)`` for the path and everything below it.
    /// - Throws: ``RootError/notFound`` for a requester without any right at one of the two paths, else
    ///   ``RootError/forbidden``.
    func requireRights(throughout wanted: Rights, at path: SharePath, _ realPath: SharePath) throws(RootError) {
        guard allows(wanted, throughout: path), path == realPath || allows(wanted, throughout: realPath)
        else {
            throw granted(at: path) == .none || granted(at: realPath) == .none ? .notFound : .forbidden
        }
    }

    /// Checks a precondition against what exists; for a link, against its target.
    func requireMatch(_ replacing: Replacement, _ status: sys_attributes?) throws(RootError) {
        switch replacing {
        case .nothing: if status != nil { throw .exists }
        case .anything: break
        case .when(let holds):
            guard holds(status.flatMap { FileAttributes($0) }) else { throw .preconditionFailed }
        }
    }

    /// Checks everything that decides whether a file may be written at a place.
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
                // The result of a condition on another user's file would reveal something about it: here it is the same
                // for any file.
                try requireMatch(replacing, Self.unknownFile)
                throw error
            }
        }
        try requireMatch(replacing, status)
        if !mayFill { try requireReplaceable(location, asked: path) }
        try checkLocks(status == nil ? WriteUse(bindings: [location.path]) : WriteUse(changes: [location.path]))
    }

    /// The status of a file about which nothing is revealed.
    private static var unknownFile: sys_attributes {
        var status = sys_attributes()
        status.mode = 0o100000
        return status
    }

    /// Checks rights and policy for a new or replaced name.
    func requireReplaceable(_ location: borrowing Location, asked path: SharePath) throws(RootError) {
        guard location.status != nil else { return try requireNewName(path, location.path, isDirectory: false) }
        try requireRights(.overwrite, at: path, location.path)
        guard root.policy.refusesOverwrite, let old = location.status else { return }
        // Mounted drives create a file before they fill it: replacing an empty file loses nothing.
        guard old.isFile, old.size == 0 else { throw .forbidden }
    }

    /// Checks rights and policy for a new name; only files need an allowed extension.
    func requireNewName(_ path: SharePath, _ realPath: SharePath, isDirectory: Bool) throws(RootError) {
        try requireRights(.create, at: path, realPath)
        guard isDirectory || root.policy.allowsExtension(of: path.name) else {
            throw .endingRefused(allowed: root.policy.allowedExtensions)
        }
    }
}

extension DirectoryRoot {
    /// Bytes that uploads to the root's own disk must leave free.
    var freeSpaceReserve: Int64 { max(0, policy.minFreeSpace, state.folder.heldBack) }

    /// Refuses what would not fit, or would use the reserve of free space; does nothing when the file system does not
    /// report its space.
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
