/// One service of a server.
///
/// Handlers are asked newest first; the first that does not pass answers the request. Everybody whom the access rules
/// let in reaches them: what a user may do is in ``Request/share``, which does it, or refuses.
public protocol Handler: Sendable {
    /// Decides from the head alone, on an event loop: must not wait for anything.
    func answer(_ request: Request) -> Answer

    /// The methods that this handler supports at any address, for `Allow` and to choose between 405 and 501.
    var methods: [Method] { get }

    /// A server is about to accept requests: called once for each start.
    ///
    /// May be called for several servers, if the handler was added to them.
    func serverBegins()

    /// The server accepts no new connections: endless responses should end.
    ///
    /// Called once for each ``serverBegins()``: when ``Server/shutDown(grace:)`` begins, before the connections get
    /// their grace, or when the server could not start after all.
    func serverEnds()

    /// A session has ended: endless responses should check ``Request/isStillAdmitted()`` now.
    func sessionEnds()

    /// The access rules have changed: endless responses should end, so that their clients ask again.
    func accessChanges()

    /// Makes the page on which browsers log in, as ``AccessRules/logInPage``; nil if this handler has none.
    var logInPage: (@Sendable (LogInPrompt) -> Response)? { get }
}

extension Handler {
    /// Does nothing.
    public func serverBegins() {}

    /// Does nothing.
    public func serverEnds() {}

    /// Does nothing.
    public func sessionEnds() {}

    /// Does nothing.
    public func accessChanges() {}

    /// There is none.
    public var logInPage: (@Sendable (LogInPrompt) -> Response)? { nil }
}

/// A handler's answer to a request.
public enum Answer: Sendable {
    /// Not for this handler.
    case pass
    /// Answered immediately, from the head or a body that is in memory; the rest of the body is skipped, or the
    /// connection closed.
    case now(Response)
    /// Answered by a task, which may read the body. A thrown ``HTTPError`` or ``RootError`` is converted to its status.
    case later(@Sendable (Request) async throws -> Response)
    /// Answered by one call on a thread of the I/O pool, which waits only for the disk: cheaper than a task.
    ///
    /// Any part of the body that was not received yet is skipped, or the connection closed.
    case onDisk(@Sendable (Request) throws -> Response)

    /// The response; to be called on a thread of the pool.
    func response(to request: Request) async throws -> Response {
        switch self {
        case .pass: .text(.notFound, "There is nothing at this address.")
        case .now(let response): response
        case .later(let work): try await work(request)
        case .onDisk(let work): try work(request)
        }
    }
}
