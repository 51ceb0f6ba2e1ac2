import DirectoryRoot

@testable import ServerCore

extension Gate {
    /// The outcome of a request; work that waits for the disk or a hash runs at once.
    func answer(
        _ method: Method, _ target: String, _ lines: [(String, String)] = [], authority: String = "localhost",
        scheme: String = "http", peer: String = "192.0.2.1"
    ) throws -> Admission {
        let head = RequestHead()
        head.compose(method: method.rawValue, target: target, lines: lines)
        let view = RequestHeadView(
            head: head, method: method, target: try RequestTarget(head.target), authority: authority, scheme: scheme,
            peer: peer)
        var admission = admit(view)
        while true {
            switch admission {
            case .check(let question), .verify(let question):
                do throws(RootError) {
                    admission = try question()
                } catch {
                    admission = .refuse(Response(HTTPError(error)))
                }
            default: return admission
            }
        }
    }
}

/// The status of a refusal; 200 for a request that is admitted.
func status(_ admission: Admission) -> Int {
    switch admission {
    case .refuse(let response): return response.status.code
    case .count(_, _, _, let settle):
        settle(true)
        return 200
    default: return 200
    }
}
