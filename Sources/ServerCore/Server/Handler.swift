/// One service of a server.
///
/// Handlers are asked newest first; the first that does not pass answers.
public protocol Handler: Sendable {
    /// Decides from the head alone, on an event loop: must not wait for anything.
    func answer(_ request: Request) -> Answer

    /// The methods that this handler knows at any address, for `Allow` and to tell 405 from 501.
    var methods: [Method] { get }

    /// The server takes no new requests: answers that have no end of their own should come to one.
    func serverEnds()

    /// A session is over: answers that have no end of their own should ask ``Request/isStillAdmitted()`` now.
    func sessionEnds()

    /// Others may do something now: answers that have no end of their own should come to one, so that their clients ask
    /// again.
    func accessChanges()
}

extension Handler {
    /// Does nothing.
    public func serverEnds() {}

    /// Does nothing.
    public func sessionEnds() {}

    /// Does nothing.
    public func accessChanges() {}
}

/// What a handler makes of a request.
public enum Answer: Sendable {
    /// Not for this handler.
    case pass
    /// Answered at once, from the head or a body that is here; what else follows is skipped, or the connection closed.
    case now(Response)
    /// Answered by a task, which may read the body. A thrown ``HTTPError`` or ``RootError`` becomes its status.
    case later(@Sendable (Request) async throws -> Response)
    /// Answered by one call on a thread of the I/O pool, which waits for nothing but the disk: cheaper than a task.
    ///
    /// What of the body is not here yet is skipped, or the connection closed.
    case onDisk(@Sendable (Request) throws -> Response)

    /// What is answered; on a thread of the pool.
    func response(to request: Request) async throws -> Response {
        switch self {
        case .pass: .text(.notFound, "There is nothing at this address.")
        case .now(let response): response
        case .later(let work): try await work(request)
        case .onDisk(let work): try work(request)
        }
    }
}
