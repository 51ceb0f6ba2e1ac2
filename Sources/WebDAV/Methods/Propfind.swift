internal import DirectoryRoot
internal import ServerCore

extension DAVRequest {
    /// Properties of the target and, by Depth, of its members, streamed.
    ///
    /// RFC 4918 §9.1.
    func propfind() async throws -> Response {
        var depth = try Depth(of: request, missing: .infinity)
        let prefer = Prefer(of: request)
        // A body that comes slowly keeps no place from others.
        let body = try await body()
        guard let slot = service.propfinds.take() else { throw RootError.tooMany }
        if prefer.leavesOutTarget, depth.reach != .zero { depth.leavesOutTarget = true }
        let selection = try service.selections.selection(propfind: body, charset: DAVBody.charset(of: request))
        let begin: @Sendable () throws -> MultiStatusStream = {
            [depth, share, memory = service.trees.portion(watch: slot.watch)] in
            try checkIf()
            return try MultiStatusStream(
                of: path, in: share, selection, depth: depth, isMinimal: prefer.isMinimal, prefix: request.prefix,
                maxMembers: depth.reach == .infinity ? service.options.maxInfiniteMembers : nil, memory: memory)
        }
        let listing = selection.needsSyncToken ? try await request.io.look(begin) : try await request.io.run(begin)
        let fields = fields(of: listing, prefer)
        if listing.isAtEnd { return .multiStatus(listing.first, to: request, fields: fields) }
        try share.requireRoomToKeepOpen()
        return .multiStatus(listing, to: request, fields: fields, until: slot)
    }

    /// Properties of the target alone; not for what ``PropertySelection/needsSyncToken``.
    ///
    /// Waits for the disk, unless it is told what the target is.
    /// - Parameters:
    ///   - selection: what is asked.
    ///   - plain: what the target is, where that is all there is to say of it.
    /// - Returns: the multistatus.
    /// - Throws: ``RootError`` when the target can't be looked at.
    func propfindTarget(_ selection: PropertySelection, plain: FileAttributes? = nil) throws -> Response {
        let prefer = Prefer(of: request)
        let listing = try MultiStatusStream(
            of: path, plain: plain, in: share, selection, depth: .zero, isMinimal: prefer.isMinimal,
            prefix: request.prefix, maxMembers: nil, memory: service.trees.portion())
        return .multiStatus(listing.first, to: request, fields: fields(of: listing, prefer))
    }

    private func fields(of listing: MultiStatusStream, _ prefer: Prefer) -> ResponseFields {
        var fields: ResponseFields = ["Content-Type": xmlMediaType]
        prefer.note(in: &fields)
        if listing.isCollection, !request.hasTrailingSlash {
            // RFC 4918 §5.2
            fields.add("Content-Location", request.href(path, isDirectory: true))
        }
        return fields
    }
}
