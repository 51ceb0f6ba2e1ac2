internal import DirectoryRoot
internal import ServerCore

/// One request on its way through the service, with what every method looks at: where, under which conditions, with
/// which lock tokens.
struct Exchange: Sendable {
    let request: Request
    let options: WebDAVOptions
    let ifHeader: IfHeader?
    let conditions: Conditions
    /// The requester's view, with the tokens that were submitted.
    let share: Share

    var path: SharePath { request.path }

    /// - Throws: 400 when the `If` field is malformed.
    init(_ request: Request, options: WebDAVOptions) throws(HTTPError) {
        self.request = request
        self.options = options
        let header = request.fields["if"]
        let ifHeader = header == nil ? nil : try IfHeader(header: header ?? "")
        self.ifHeader = ifHeader
        conditions = Conditions(request.fields)
        var share = request.share
        if let ifHeader { share.tokens = ifHeader.tokens }
        self.share = share
    }

    /// Runs `work` where the disk may be waited for.
    func onDisk<T: Sendable>(_ work: @escaping @Sendable (Share) throws -> T) async throws -> T {
        try await request.io.run { [share] in try work(share) }
    }

    /// What the `If` field says, looked up now.
    ///
    /// Waits for the disk.
    /// - Throws: ``RootError/preconditionFailed`` when it is false.
    func checkIf() throws {
        guard ifHeader != nil else { return }
        let target = try existing(path)
        guard try ifState().holds(for: target) else { throw RootError.preconditionFailed }
    }

    /// Everything that was asked about the target, for the moment of the commit.
    ///
    /// Waits for the disk.
    func precondition() throws -> Replacement {
        guard ifHeader != nil else { return conditions.replacement }
        let state = try ifState()
        let conditions = conditions
        return .when { state.holds(for: $0) && conditions.evaluate($0, isRead: false) == .proceed }
    }

    /// All conditions, looked up now, for methods whose change of the target can't carry them.
    ///
    /// Waits for the disk.
    /// - Throws: ``RootError/preconditionFailed``.
    func check() throws {
        try checkIf()
        guard !conditions.isEmpty else { return }
        let target = try existing(path)
        guard conditions.evaluate(target, isRead: false) == .proceed else { throw RootError.preconditionFailed }
    }

    /// What is at `path`; nil when nothing is.
    func existing(_ path: SharePath) throws(RootError) -> FileAttributes? {
        do {
            return try share.attributes(of: path)
        } catch {
            switch error {
            case .notFound, .notDirectory, .parentMissing: return nil
            default: throw error
            }
        }
    }

    private func ifState() throws -> IfState {
        guard let ifHeader else { return IfState.always }
        return try IfState(ifHeader, of: self)
    }
}
