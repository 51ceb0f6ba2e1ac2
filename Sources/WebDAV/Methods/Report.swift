internal import DirectoryRoot
internal import ServerCore

extension DAVRequest {
    /// Lists what is new, changed or gone in a collection since a token was given out.
    ///
    /// RFC 6578 §3.2. Other reports (RFC 3253 §3.6) are refused.
    func report() async throws -> Response {
        let depth = try Depth(of: request, missing: .zero)
        // A place is taken only once the body is complete, so that a slow one keeps no place from others.
        let body = try await body()
        guard let slot = service.propfinds.take() else { throw RootError.tooMany }
        let root = try root(of: body)
        guard root.isDAV("sync-collection") else {
            throw DAVError(status: .forbidden, condition: .supportedReport)
        }
        guard depth == .zero else {
            throw HTTPError(.badRequest, "The Depth of this report must be 0; its sync-level says how far it reaches.")
        }
        let query = try SyncQuery(root)
        let prefer = Prefer(of: request)
        let listing = try await request.io.look { [share, memory = service.trees.portion(watch: slot.watch)] in
            guard try share.attributes(of: path).isDirectory, !share.root.policy.isReadOnly else {
                throw DAVError(status: .forbidden, condition: .supportedReport)
            }
            try checkIf()
            return try ChangeStream(
                of: path, in: share, query, isMinimal: prefer.isMinimal, prefix: request.prefix, memory: memory)
        }
        var fields: ResponseFields = ["Content-Type": xmlMediaType]
        prefer.note(in: &fields)
        if listing.isAtEnd { return .multiStatus(listing.first, to: request, fields: fields) }
        return .multiStatus(listing, to: request, fields: fields, until: slot)
    }
}

/// The body of a `sync-collection` report.
///
/// RFC 6578 §6.1.
struct SyncQuery: Sendable {
    /// Nil asks for the whole collection.
    let token: SyncToken?
    let isRecursive: Bool
    let limit: Int?
    let selection: PropertySelection

    /// - Throws: 400 when it is not such a body; 403 for another server's token.
    init(_ root: XMLElement) throws {
        guard let properties = root.child("prop") else { throw DAVBody.notUnderstood }
        let text = root.child("sync-token")?.text.filter { !$0.isWhitespace } ?? ""
        token = text.isEmpty ? nil : SyncToken(text)
        guard text.isEmpty || token != nil else { throw DAVError(status: .forbidden, condition: .validSyncToken) }
        switch root.child("sync-level")?.text.trimmingBlanks ?? "1" {
        case "1": isRecursive = false
        case "infinite", "infinity": isRecursive = true
        default: throw DAVBody.notUnderstood
        }
        let wished = root.child("limit")?.child("nresults")?.text.trimmingBlanks
        // A number too large for an `Int` means no limit.
        limit = wished.flatMap { Int($0) ?? ($0.first != nil && $0.utf8.allSatisfy(ASCII.isDigit) ? .max : nil) }
        // RFC 6578 §3.7: no response fits a limit of zero, and a limit that is no number is treated alike.
        guard wished == nil || (limit ?? 0) > 0 else {
            throw DAVError(status: .insufficientStorage, condition: .numberOfMatchesWithinLimits)
        }
        selection = try PropertySelection(prop: properties)
    }
}
