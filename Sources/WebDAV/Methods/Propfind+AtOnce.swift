internal import DirectoryRoot
internal import ServerCore

extension DAVRequest {
    /// The whole body of a PROPFIND that asks for one resource, where it came together with its head; nil for every
    /// other, which ``propfind()`` answers.
    static func bodyForTarget(of request: Request, limit: Int) -> [UInt8]? {
        guard let depth = try? Depth(of: request, missing: .infinity), depth.reach == .zero,
            let body = request.body.atHand, body.count <= limit
        else { return nil }
        return body
    }

    /// Answers a PROPFIND of one resource for which no disk has to be waited for.
    ///
    /// On the event loop: programs that mount the share ask so before nearly everything else that they do, and two
    /// changes of threads cost more than all the rest of it.
    /// - Parameter body: of the request.
    /// - Returns: nil where more has to be looked at, or anything is wrong; ``propfindTarget(_:)`` then answers.
    func propfindAtOnce(_ body: [UInt8]) -> Response? {
        guard ifHeader == nil,
            let selection = service.selections.known(propfind: body, charset: DAVBody.charset(of: request)),
            !selection.needsSpace, !selection.needsSyncToken
        else { return nil }
        do {
            return try propfindTarget(selection, plain: share.plainAttributes(of: path))
        } catch RootError.notFound {
            // Desktops look for companions of each file that they show, which nearly never exist.
            return DAVError.response(to: .notFound, of: request)
        } catch {
            return nil
        }
    }

    /// The same for a resource of which more has to be looked at.
    ///
    /// Waits for the disk.
    /// - Parameter body: of the request.
    /// - Returns: the multistatus.
    /// - Throws: as ``propfind()`` does.
    func propfindTarget(_ body: [UInt8]) throws -> Response {
        guard let slot = service.propfinds.take() else { throw RootError.tooMany }
        defer { withExtendedLifetime(slot) {} }
        let selection = try service.selections.selection(propfind: body, charset: DAVBody.charset(of: request))
        try checkIf()
        return try propfindTarget(selection)
    }
}
