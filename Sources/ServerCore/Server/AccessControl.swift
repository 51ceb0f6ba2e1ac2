package import DirectoryRoot

/// Decides who is admitted; asked for every request before any handler sees it.
package protocol AccessControl: Sendable {
    /// Decides from the head alone, on an event loop: must not wait for anything.
    func admit(_ head: RequestHeadView) -> Admission

    /// Adds to every response what browsers must know.
    /// - Parameters:
    ///   - response: the response to `head`.
    ///   - head: the request, admitted or not.
    func addFields(to response: inout Response, for head: RequestHeadView)

    /// Replaces a refusal if logging in may help; called for responses with status 403 only.
    /// - Parameters:
    ///   - response: the response to `head`.
    ///   - head: the request, admitted or not.
    /// - Returns: the same, or one that asks the client to log in, if that may help.
    func challenged(_ response: Response, for head: RequestHeadView) -> Response

    /// Whether a request that was admitted with this head still would be: the session or share link that it names may
    /// have ended.
    ///
    /// Waits for the disk. Changes of the rules do not matter here: ``Handler/accessChanges()`` reports them.
    /// - Parameters:
    ///   - head: the admitted request.
    ///   - user: the account that sent it, if any.
    /// - Returns: false when it has ended, or that is unknown.
    func stillAdmits(_ head: RequestHeadView, of user: String?) -> Bool

    /// Whether a GET with this head, which has neither credentials, cookies nor an origin, is admitted to the whole
    /// share with everybody's rights, so that it may get the very response that another such request for the same
    /// target got.
    ///
    /// Called for every request on the fastest path: must be quick and allocate nothing.
    /// - Returns: the number of the rules that decide so, which differs after they change; nil for no.
    func rulesForEverybody(_ head: RequestHead) -> UInt64?

    /// The response to a request that is meant for another server.
    /// - Parameter head: the request.
    /// - Returns: nil when its host is this server, or any host is allowed.
    func misdirection(of head: RequestHeadView) -> Response?

    /// Waits until everything is given back that was counted for requests without a result; called at the end, when
    /// there are no more requests.
    /// - Parameter limit: how long to wait at most.
    func giveBack(within limit: Duration)

    /// Receives the host names in the server's certificate, which may include `*.example.com`, before the server
    /// listens and whenever they change.
    func learn(ownNames names: [String])
}

extension AccessControl {
    package func rulesForEverybody(_ head: RequestHead) -> UInt64? { nil }

    package func stillAdmits(_ head: RequestHeadView, of user: String?) -> Bool { true }

    package func misdirection(of head: RequestHeadView) -> Response? { nil }

    package func giveBack(within limit: Duration) {}

    package func learn(ownNames names: [String]) {}

    package func challenged(_ response: Response, for head: RequestHeadView) -> Response { response }

    /// Adds the fields that every response has.
    package func addFields(to response: inout Response, for head: RequestHeadView) {
        SecurityFields.add(to: &response.fields)
    }
}

/// What is done with a request.
package enum Admission: Sendable {
    /// Admitted, with the share as this requester may see it, and the path within it.
    case allow(Share, prefix: String, path: SharePath)
    /// Admitted, and counted: `settle` is told whether the response has any content, on a thread of the pool and before
    /// it is sent.
    case count(Share, prefix: String, path: SharePath, settle: @Sendable (Bool) -> Void)
    /// Not admitted.
    case refuse(Response)
    /// The disk must be asked: to be called on a thread of the pool.
    case check(@Sendable () throws(RootError) -> Admission)
    /// A password must be hashed, which is slow on purpose: to be called on a thread of the pool, after all others that
    /// wait for that.
    case verify(@Sendable () throws(RootError) -> Admission)

    /// The same decision, with `response` if it is an admission.
    func answering(_ response: Response) -> Admission {
        switch self {
        case .allow, .count: .refuse(response)
        case .refuse: self
        case .check(let ask): .check { () throws(RootError) in try ask().answering(response) }
        case .verify(let ask): .verify { () throws(RootError) in try ask().answering(response) }
        }
    }
}

/// A request's head before it is admitted.
package struct RequestHeadView: Sendable {
    /// The fields and their positions.
    package let head: RequestHead
    /// The request method.
    package let method: Method
    /// The parts of the target.
    package let target: RequestTarget
    /// The host and port that the client asked for; empty in HTTP/1.0 without `Host`.
    package let authority: String
    /// `http` or `https`, as the client sees it.
    package let scheme: String
    /// The client's numeric address, as far as it is trusted; `unix` for a Unix-domain socket.
    package let peer: String
    /// When and from where it came.
    package var arrival = RequestArrival()

    /// The header fields.
    package var fields: RequestFields { RequestFields(head: head) }
}
