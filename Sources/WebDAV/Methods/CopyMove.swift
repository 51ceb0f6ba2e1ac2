internal import DirectoryRoot
internal import ServerCore

extension DAVRequest {
    /// Copies a file, a tree, or with Depth 0 a folder without its members.
    ///
    /// RFC 4918 §9.8.
    func copy() async throws -> Response {
        let depth = try Depth(of: request, missing: .infinity)
        guard depth == .zero || depth == .infinity else {
            throw HTTPError(.badRequest, "The Depth of a COPY must be 0 or infinity.")
        }
        return try await transfer(takesLong) { share, target, replacing in
            try share.copy(path, to: target, recursive: depth == .infinity, replacing: replacing)
        }
    }

    /// Moves a file or a tree.
    ///
    /// RFC 4918 §9.9.
    func move() async throws -> Response {
        let depth = try Depth(of: request, missing: .infinity)
        return try await transfer(crossesFileSystems) { share, target, replacing in
            guard try depth == .infinity || !share.attributes(of: path).isDirectory else {
                throw HTTPError(.badRequest, "A folder is moved with all that is in it: Depth must be infinity.")
            }
            return try share.move(path, to: target, replacing: replacing)
        }
    }

    /// Whether copying takes longer than an ordinary request; false for a copy that will fail anyway.
    private func takesLong(_ share: Share, _ target: SharePath) -> Bool {
        let source = try? share.attributes(of: path)
        return source.map { $0.isDirectory || $0.size > IOPool.mostCopiedAtOnce } ?? false
    }

    /// Whether a move needs more than a rename; false for one that will fail anyway.
    private func crossesFileSystems(_ share: Share, _ target: SharePath) -> Bool {
        let places = try? (share.attributes(of: path), share.attributes(of: target.parent))
        return places.map { $0.device != $1.device } ?? false
    }

    private static let folderForFile = HTTPError(
        .conflict,
        "The Destination is a folder's address, and this is a file: end it with the file's new name. To put the file "
            + "in the place of the folder and all that is in it, send Overwrite: T.")

    /// Runs the copy or move, queued with other long work if `isLong` returns true.
    private func transfer(
        _ isLong: @escaping @Sendable (Share, SharePath) -> Bool,
        _ run: @escaping @Sendable (Share, SharePath, Replacement) throws -> TransferResult
    ) async throws -> Response {
        let destination = try Destination(of: request)
        let asked = destination.path
        try await refuseBody(but: "propertybehavior")
        let target = request.mayRespell(asked) ? try await request.listedEquivalent(of: asked) ?? asked : asked
        let overwrite = try Overwrite(header: request.fields["overwrite"])
        guard target != path else {
            throw HTTPError(.forbidden, "Source and destination are the same.")
        }
        let (isLong, seen) = try await onDisk { share in
            (isLong(share, target), SeenTarget(at: target, by: request))
        }
        return try await onDiskIfConditionsHold(inTurn: isLong, needsTarget: true) { share in
            if request.hasTrailingSlash { try requireFolderBehindSlash(share.attributes(of: path)) }
            // People write a folder's address where they mean a place in it; what they would get takes the place of the
            // whole folder. Programs that mean that say so. RFC 4918 §9.8.4.
            if destination.hasTrailingSlash, !target.isRoot, request.fields["overwrite"] == nil,
                try !share.attributes(of: path).isDirectory, (try? share.attributes(of: target))?.isDirectory == true
            {
                throw Self.folderForFile
            }
            do {
                let allowed = seen.map { Replacement.when($0.mayBeReplaced) } ?? .anything
                let result = try run(share, target, overwrite.isAllowed ? allowed : .nothing)
                guard result.failures.isEmpty else { return multiStatus(result.failures, in: share) }
                return Response(result.created ? .created : .noContent)
            } catch RootError.exists {
                throw HTTPError(
                    .preconditionFailed, "The name is taken, and was not to be replaced. Choose another one.")
            } catch RootError.locked(let roots) {
                let top = roots.allSatisfy { target.isAncestor(of: $0) } ? target : path
                return try lockedMembers(roots, below: top, in: share)
            }
        }
    }
}
