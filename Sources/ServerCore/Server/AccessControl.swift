package import DirectoryRoot

/// Who may come in, asked for every request before any handler sees it.
package protocol AccessControl: Sendable {
    /// Decides from the head alone, on an event loop: must not wait for anything.
    func admit(_ head: RequestHeadView) -> Admission

    /// Adds to every answer what browsers shall know about it.
    /// - Parameters:
    ///   - response: the answer to `head`.
    ///   - head: what was asked, let in or not.
    func addFields(to response: inout Response, for head: RequestHeadView)

    /// What becomes of an answer that refuses: asked for those with status 403 alone.
    /// - Parameters:
    ///   - response: the answer to `head`.
    ///   - head: what was asked, let in or not.
    /// - Returns: the same, or one that asks to log in, where that may help.
    func challenged(_ response: Response, for head: RequestHeadView) -> Response

    /// Whether who was let in with this head still is: what it names, a session or a share link, may be over by now.
    ///
    /// Waits for the disk. Other rules than those of its time are no matter here: ``Handler/accessChanges()`` tells of
    /// them.
    /// - Parameters:
    ///   - head: what was asked and let in.
    ///   - user: the account that asked, if any.
    /// - Returns: false when it is over, or cannot be known not to be.
    func stillAdmits(_ head: RequestHeadView, of user: String?) -> Bool

    /// Whether a GET with this head, which carries neither credentials, cookies nor an origin, is let in to the whole
    /// share with everybody's rights, so that it may get the very answer that another such request for the same target
    /// got.
    ///
    /// Asked for every request of the fastest path: must be quick and allocate nothing.
    /// - Returns: the number of the rules that say so, another one after they changed; nil for no.
    func rulesForEverybody(_ head: RequestHead) -> UInt64?

    /// What is answered to who means another server.
    /// - Parameter head: what was asked.
    /// - Returns: nil where the host that it names is this server's, or may be any.
    func misdirection(of head: RequestHeadView) -> Response?

    /// Hears which host names the server's certificate holds, `*.example.com` among them, before it listens and
    /// whenever they change.
    func learn(ownNames names: [String])
}

extension AccessControl {
    package func rulesForEverybody(_ head: RequestHead) -> UInt64? { nil }

    package func stillAdmits(_ head: RequestHeadView, of user: String?) -> Bool { true }

    package func misdirection(of head: RequestHeadView) -> Response? { nil }

    package func learn(ownNames names: [String]) {}

    package func challenged(_ response: Response, for head: RequestHeadView) -> Response { response }

    /// The fields that every answer has.
    package func addFields(to response: inout Response, for head: RequestHeadView) {
        SecurityFields.add(to: &response.fields)
    }
}

/// What becomes of a request.
package enum Admission: Sendable {
    /// Let in, with the share as this requester may see it, and the path within it.
    case allow(Share, prefix: String, path: SharePath)
    /// Let in so, where that is counted: `settle` hears whether the answer brings any content, on a thread of the pool
    /// and before it is sent.
    case count(Share, prefix: String, path: SharePath, settle: @Sendable (Bool) -> Void)
    /// Not let in.
    case refuse(Response)
    /// The disk must be asked: ask this on a thread of the pool.
    case check(@Sendable () throws(RootError) -> Admission)
    /// A password must be hashed, which is slow on purpose: ask this on a thread of the pool, behind all who wait for
    /// that.
    case verify(@Sendable () throws(RootError) -> Admission)

    /// The same decision, with `response` for who is let in.
    func answering(_ response: Response) -> Admission {
        switch self {
        case .allow, .count: .refuse(response)
        case .refuse: self
        case .check(let ask): .check { () throws(RootError) in try ask().answering(response) }
        case .verify(let ask): .verify { () throws(RootError) in try ask().answering(response) }
        }
    }
}

/// A request's head before it is let in.
package struct RequestHeadView: Sendable {
    /// The fields and where they lie.
    package let head: RequestHead
    /// What is asked for.
    package let method: Method
    /// The parts of the target.
    package let target: RequestTarget
    /// The host and port that the client asked for; empty in HTTP/1.0 without `Host`.
    package let authority: String
    /// `http` or `https`, as the client sees it.
    package let scheme: String
    /// The client's numeric address, as believed; `unix` for a Unix-domain socket.
    package let peer: String

    /// The header fields.
    package var fields: RequestFields { RequestFields(head: head) }
}
