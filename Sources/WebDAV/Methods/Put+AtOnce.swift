internal import DirectoryRoot
internal import ServerCore

extension Exchange {
    /// Answers a PUT for which neither the network nor a disk has to be waited for: a new, small file in a share in
    /// memory, whose content came together with its head.
    ///
    /// On the event loop: two changes of threads would cost more than all the rest of it.
    /// - Returns: nil for every other, and for what can't be done; ``put()`` then does it, or says why not.
    static func putAtOnce(_ request: Request) -> Response? {
        guard request.share.root.isInMemory, !request.path.isRoot, !request.hasTrailingSlash,
            let bytes = request.body.atHand, bytes.count <= smallBody
        else { return nil }
        let fields = request.fields
        guard fields["if"] == nil, fields["content-range"] == nil, let promises = try? UploadPromises(request),
            promises.digests.isEmpty, promises.length ?? 0 <= Int64(bytes.count)
        else { return nil }
        let attributes = request.share.createAtOnce(
            request.path, bytes, replacing: Conditions(fields).replacement, modified: promises.modified)
        guard let attributes else { return nil }
        return Response(.created, fields: promises.fields(after: attributes, promises.digests))
    }
}
