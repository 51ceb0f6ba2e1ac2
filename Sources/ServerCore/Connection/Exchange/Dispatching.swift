import DirectoryRoot

/// What a connection of either protocol does with a request once its admission is decided.
///
/// Used on its event loop only.
protocol Dispatching: AnyObject {
    /// The user's name, for the access log.
    var user: String? { get set }
    /// Decides an open admission off the loop, and dispatches the request back on the loop.
    func ask(_ open: Admission, _ view: RequestHeadView)
    /// Makes the request, with a body that is received as it is read.
    func makeRequest(_ view: RequestHeadView, share: Share, prefix: String, path: SharePath) -> Request
    /// Has the handlers answer the request, and tells `settle` whether the response has any content.
    func answer(_ request: Request, settling settle: (@Sendable (Bool) -> Void)?)
    /// Sends a response that needs no task.
    func respond(_ response: consuming Response)
}

extension Dispatching {
    /// Continues with a request as its admission says.
    func dispatch(_ admission: Admission, _ view: RequestHeadView) {
        switch admission {
        case .allow(let share, let prefix, let path):
            user = share.user
            answer(makeRequest(view, share: share, prefix: prefix, path: path), settling: nil)
        case .count(let share, let prefix, let path, let settle):
            user = share.user
            answer(makeRequest(view, share: share, prefix: prefix, path: path), settling: settle)
        case .refuse(let response): respond(response)
        case .check, .verify: ask(admission, view)
        }
    }
}
