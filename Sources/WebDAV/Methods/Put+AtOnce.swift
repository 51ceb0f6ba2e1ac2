internal import DirectoryRoot
internal import ServerCore

extension DAVRequest {
    /// The content of a PUT to a file's address, if it is small and was received together with its header section; nil
    /// for every other PUT, which ``put()`` answers.
    static func smallContent(of request: Request) -> [UInt8]? {
        guard !request.path.isRoot, !request.hasTrailingSlash, let bytes = request.body.atHand,
            bytes.count <= smallBody, bytes.count <= request.share.root.policy.maxUploadSize ?? .max,
            isWhole(request)
        else { return nil }
        return bytes
    }

    /// Answers a PUT that has to wait for neither the network nor a disk: a small file in a share in memory.
    ///
    /// On the event loop: two changes of threads would cost more than all the rest.
    /// - Parameters:
    ///   - content: of the file.
    ///   - request: the PUT.
    /// - Returns: nil for every other PUT, and for one that fails; ``put(_:)`` then stores it or reports why not.
    static func putAtOnce(_ content: [UInt8], _ request: Request) -> Response? {
        let fields = request.fields
        let share = request.share
        guard share.root.isInMemory, fields["if"] == nil, let promises = try? UploadPromises(request),
            promises.digests.isEmpty, promises.length ?? 0 <= Int64(content.count)
        else { return nil }
        let written = share.writeAtOnce(
            request.path, content, replacing: Conditions(fields).replacement, modified: promises.modified)
        guard let (attributes, created) = written else { return nil }
        return Response(
            created ? .created : .noContent, fields: promises.fields(after: attributes, promises.digests))
    }
}
