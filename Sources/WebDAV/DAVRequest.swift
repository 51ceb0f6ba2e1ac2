internal import DirectoryRoot
internal import ServerCore

/// One request on its way through the service, with what every method looks at: where, under which conditions, with
/// which lock tokens.
struct DAVRequest: Sendable {
    let request: Request
    let service: DAVService
    let ifHeader: IfHeader?
    let conditions: Conditions
    /// The requester's view, with the tokens that were submitted; a write through it holds to the `If` field until its
    /// very end.
    let share: Share

    var path: SharePath { request.path }

    /// - Throws: 400 when the `If` field is malformed.
    init(_ request: Request, to service: DAVService) throws(HTTPError) {
        self.request = request
        self.service = service
        ifHeader = try request.fields["if"].map(IfHeader.init(header:))
        conditions = Conditions(request.fields)
        var share = ifHeader.map { request.submitting($0).share } ?? request.share
        // Word 2016 says so that it has the lock, and not by `If`. In a PUT the field means nothing by itself, and
        // nobody is refused for a malformed one.
        if ifHeader == nil, request.method == .put,
            let header = try? LockTokenHeader(header: request.fields["lock-token"])
        {
            share.tokens = [header.token]
        }
        self.share = share
    }

    /// The body as it came, within its limit.
    func body() async throws -> [UInt8] { try await request.body.collect(upTo: service.options.maxXMLBytes) }

    /// The root element of a body.
    /// - Parameters:
    ///   - body: a whole document.
    ///   - maxDepth: for a method that takes less depth than is configured.
    /// - Returns: the element with all that is in it.
    /// - Throws: 400 for whatever is not read.
    func root(of body: [UInt8], maxDepth: Int = XMLBounds.maxDepth) throws(HTTPError) -> XMLElement {
        try DAVBody.read(
            body, charset: DAVBody.charset(of: request), maxDepth: min(maxDepth, service.options.maxXMLDepth))
    }

    /// Runs `work` where the disk may be waited for, behind others that also take as long as a tree or a large file
    /// does.
    func onDiskInTurn<T: Sendable>(_ work: @escaping @Sendable (Share) throws -> T) async throws -> T {
        try await request.io.walk { [share] in try work(share) }
    }

    /// Runs `work` where the disk may be waited for.
    func onDisk<T: Sendable>(_ work: @escaping @Sendable (Share) throws -> T) async throws -> T {
        try await request.io.run { [share] in try work(share) }
    }

    /// The same when all conditions of the request hold: looked up now, and again by what `work` writes under the lock
    /// under which names change.
    ///
    /// For methods whose change of the target can't carry them. RFC 9110 §13.2.1, RFC 4918 §10.4.
    /// - Parameters:
    ///   - inTurn: waits behind others that also take long.
    ///   - needsTarget: for a method that can only answer 404 where nothing is, whatever the conditions.
    ///   - needsFreeName: for one that can only answer 405 where something is.
    ///   - work: what is done.
    /// - Returns: what `work` does.
    /// - Throws: ``RootError/preconditionFailed``, ``RootError/notFound``.
    func onDiskIfConditionsHold<T: Sendable>(
        inTurn: Bool = false, needsTarget: Bool = false, needsFreeName: Bool = false,
        _ work: @escaping @Sendable (Share) throws -> T
    ) async throws -> T {
        let asked: @Sendable (Share) throws -> T = { share in
            guard ifHeader != nil || !conditions.isEmpty else { return try work(share) }
            var share = share
            let holds: @Sendable () throws(RootError) -> Bool = { () throws(RootError) in
                if let ifHeader, try !ifHeader.holds(for: request) { return false }
                guard !conditions.isEmpty else { return true }
                let target = try existing(path)
                guard target != nil || !needsTarget else { throw .notFound }
                if needsFreeName, target != nil { return true }
                return conditions.evaluate(target, isRead: false) == .proceed
            }
            guard try holds() else { throw RootError.preconditionFailed }
            share.precondition = holds
            return try work(share)
        }
        return inTurn ? try await onDiskInTurn(asked) : try await onDisk(asked)
    }

    /// What the `If` field says, looked up now.
    ///
    /// Waits for the disk.
    /// - Throws: ``RootError/preconditionFailed`` when it is false.
    func checkIf() throws(RootError) {
        if let ifHeader, try !ifHeader.holds(for: request) { throw .preconditionFailed }
    }

    /// Refuses an address with a slash behind a file's name: it reads as nothing, so nothing changes through it.
    /// - Throws: ``RootError/notFound``.
    func requireFolderBehindSlash(_ target: FileAttributes) throws(RootError) {
        // A share that is one file has its own address, slash or not.
        guard target.isDirectory || !request.hasTrailingSlash || path.isRoot else { throw .notFound }
    }

    /// What is at `path`; nil when nothing is.
    func existing(_ path: SharePath) throws(RootError) -> FileAttributes? { try share.existing(path) }
}
