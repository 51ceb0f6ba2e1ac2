internal import DirectoryRoot
internal import ServerCore

extension DAVRequest {
    /// The properties that a PROPFIND asks for, if its body was received together with its header section and is a
    /// known one; nil for every other.
    ///
    /// Nil also for one that ``PropertySelection/needsSyncToken``, which takes a walk over the tree.
    func knownSelection() -> PropertySelection? {
        guard let body = request.body.atHand, body.count <= service.options.maxXMLBytes,
            let selection = service.selections.known(propfind: body, charset: DAVBody.charset(of: request)),
            !selection.needsSyncToken
        else { return nil }
        return selection
    }

    /// Answers a PROPFIND of one resource if no disk has to be waited for.
    ///
    /// On the event loop: programs that mount the share send it before nearly everything else that they do, and two
    /// changes of threads cost more than all the rest.
    /// - Returns: nil if more has to be looked at or anything is wrong; ``propfind(_:_:)`` then answers.
    func propfindAtOnce(_ selection: PropertySelection) -> Response? {
        guard ifHeader == nil, !selection.needsSpace else { return nil }
        do {
            let prefer = Prefer(of: request)
            let attributes = try share.plainAttributes(
                of: path, asksForLocks: selection.needsLocks, asksForProperties: selection.needsKept)
            let listing = try MultiStatusStream(
                of: path, spelled: request.spelledPath, plain: attributes, in: share, selection, depth: .zero,
                isMinimal: prefer.isMinimal, prefix: request.prefix, maxMembers: nil, memory: service.trees.portion())
            return .multiStatus(listing.first, to: request, fields: fields(of: listing, prefer))
        } catch RootError.notFound {
            // Desktops look for companion files of each file that they show, which nearly never exist.
            return DAVError.response(to: .notFound, of: request)
        } catch {
            return nil
        }
    }
}
