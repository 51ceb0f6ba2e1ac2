internal import DirectoryRoot
internal import ServerCore

/// One request, with what every method looks at: the path, the conditions and the lock tokens.
struct DAVRequest: Sendable {
    let request: Request
    let service: DAVService
    let ifHeader: IfHeader?
    let conditions: Conditions
    /// The requester's view, with the tokens that were submitted; a write through it checks the `If` field until the
    /// write is final.
    let share: Share

    var path: SharePath { request.path }

    /// - Throws: 400 when the `If` field is malformed.
    init(_ request: Request, to service: DAVService) throws(HTTPError) {
        self.request = request
        self.service = service
        ifHeader = try request.fields["if"].map(IfHeader.init(header:))
        conditions = Conditions(request.fields)
        var share = ifHeader.map { request.submitting($0).share } ?? request.share
        // Word 2016 submits its lock token in Lock-Token, not in `If`. In a PUT that field has no meaning of its own,
        // and a malformed one is no reason to refuse.
        if ifHeader == nil, request.method == .put,
            let header = try? LockTokenHeader(header: request.fields["lock-token"])
        {
            share.tokens = [header.token]
        }
        self.share = share
    }

    /// The body as received, within its limit.
    func body() async throws -> [UInt8] { try await request.body.collect(upTo: service.options.maxXMLBytes) }

    /// The root element of a body.
    /// - Parameters:
    ///   - body: a whole document.
    ///   - maxDepth: for a method that accepts less depth than is configured.
    /// - Returns: the element with its content.
    /// - Throws: 400 when the body cannot be read.
    func root(of body: [UInt8], maxDepth: Int = XMLBounds.maxDepth) throws(HTTPError) -> XMLElement {
        try DAVBody.read(
            body, charset: DAVBody.charset(of: request), maxDepth: min(maxDepth, service.options.maxXMLDepth))
    }

    /// Runs `work` where waiting for the disk is allowed, queued with other work that takes as long as a tree or a
    /// large file does.
    func onDiskInTurn<T: Sendable>(_ work: @escaping @Sendable (Share) throws -> T) async throws -> T {
        try await request.io.walk { [share] in try work(share) }
    }

    /// Runs `work` where waiting for the disk is allowed.
    func onDisk<T: Sendable>(_ work: @escaping @Sendable (Share) throws -> T) async throws -> T {
        try await request.io.run { [share] in try work(share) }
    }

    /// The same if all conditions of the request hold: they are checked now, and again by the writes in `work`, under
    /// the lock under which names change.
    ///
    /// For methods whose change of the target can't carry the conditions itself. RFC 9110 §13.2.1, RFC 4918 §10.4.
    /// - Parameters:
    ///   - inTurn: queues with other work that takes long.
    ///   - needsTarget: for a method that answers 404 for a missing target, whatever the conditions.
    ///   - needsFreeName: for one that answers 405 for an existing target, whatever the conditions.
    ///   - work: what to do.
    /// - Returns: what `work` returns.
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

    /// Evaluates the `If` field now.
    ///
    /// Waits for the disk.
    /// - Throws: ``RootError/preconditionFailed`` when it is false.
    func checkIf() throws(RootError) {
        if let ifHeader, try !ifHeader.holds(for: request) { throw .preconditionFailed }
    }

    /// Refuses the address of a file with a trailing slash: it cannot be read under that address, so it cannot be
    /// changed either.
    /// - Throws: ``RootError/notFound``.
    func requireFolderBehindSlash(_ target: FileAttributes) throws(RootError) {
        // A share that is one file has its own address, with or without the slash.
        guard target.isDirectory || !request.hasTrailingSlash || path.isRoot else { throw .notFound }
    }

    /// What is at `path`; nil when there is nothing.
    func existing(_ path: SharePath) throws(RootError) -> FileAttributes? { try share.existing(path) }
}
