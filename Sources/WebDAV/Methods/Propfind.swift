internal import DirectoryRoot
internal import ServerCore

extension DAVRequest {
    /// Lists properties of the target and, depending on Depth, of its members, streamed.
    ///
    /// RFC 4918 §9.1.
    func propfind() async throws -> Response {
        let depth = try Depth(of: request, missing: .infinity)
        // A place is taken only once the body is complete, so that a slow one keeps no place from others.
        let body = try await body()
        let selection = try service.selections.selection(propfind: body, charset: DAVBody.charset(of: request))
        guard selection.needsSyncToken || depth.reach == .infinity else {
            return try await request.io.run { try propfind(selection, depth) }
        }
        return try await request.io.look { try propfind(selection, depth) }
    }

    /// The same with the body already read.
    ///
    /// Waits for the disk.
    func propfind(_ selection: PropertySelection, _ depth: Depth) throws -> Response {
        var depth = depth
        let prefer = Prefer(of: request)
        if prefer.leavesOutTarget, depth.reach != .zero { depth.leavesOutTarget = true }
        guard let slot = service.propfinds.take() else { throw RootError.tooMany }
        try checkIf()
        let most = depth.reach == .infinity ? service.options.maxInfiniteMembers : nil
        let memory = service.trees.portion(watch: slot.watch)
        if let most, try MemberCount.isAbove(most, below: path, in: share, memory) {
            throw DAVError(status: .forbidden, condition: .propfindFiniteDepth)
        }
        let listing = try MultiStatusStream(
            of: path, spelled: request.spelledPath, in: share, selection, depth: depth, isMinimal: prefer.isMinimal,
            prefix: request.prefix, maxMembers: most, isCrowded: slot.isCrowded, memory: memory)
        let fields = fields(of: listing, prefer)
        if listing.isAtEnd { return .multiStatus(listing.first, to: request, fields: fields) }
        try share.requireRoomToKeepOpen()
        return .multiStatus(listing, to: request, fields: fields, until: slot)
    }

    func fields(of listing: MultiStatusStream, _ prefer: Prefer) -> ResponseFields {
        var fields: ResponseFields = ["Content-Type": xmlMediaType]
        prefer.note(in: &fields)
        if listing.isCollection, !request.hasTrailingSlash {
            // RFC 4918 §5.2
            fields.add("Content-Location", request.href(path, isDirectory: true))
        }
        return fields
    }
}
