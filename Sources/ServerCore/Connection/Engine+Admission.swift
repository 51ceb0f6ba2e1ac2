import DirectoryRoot
import Synchronization

extension Engine {
    /// The head as the access control sees it: with the real client's data, if a trusted proxy supplies it.
    /// - Throws: 413 when it announces a larger body than is allowed.
    func view(
        of head: RequestHead, _ target: RequestTarget, peer: String, scheme: String, _ arrival: RequestArrival
    ) throws(HTTPError) -> RequestHeadView {
        if let limit = limits.bodyBytes, let length = head.contentLength, length > limit {
            throw HTTPError.bodyTooLarge
        }
        var client = TrustedProxies.Client(
            address: peer, scheme: scheme,
            authority: (target.authority ?? head[.host]).map { RequestHead.text($0) } ?? "")
        if !proxies.isEmpty { client = proxies.client(of: client, fields: RequestFields(head: head)) }
        return RequestHeadView(
            head: head, method: head.method, target: target, authority: client.authority, scheme: client.scheme,
            peer: client.address, arrival: arrival)
    }

    /// Resolves off the event loop what an admission left open, in as many steps as it takes.
    /// - Parameters:
    ///   - admission: the first result.
    ///   - done: gets the final result, on a thread of the pool or synchronously.
    func settle(_ admission: Admission, _ done: @escaping @Sendable (Admission) -> Void) {
        switch admission {
        case .allow, .count, .refuse: done(admission)
        case .check(let question):
            guard pool.begin() else { return done(.refuse(withoutThread())) }
            undecided.wrappingAdd(1, ordering: .relaxed)
            pool.submit { self.decide(question, done) }
        case .verify(let question):
            undecided.wrappingAdd(1, ordering: .relaxed)
            if passwords.submit({ self.decide(question, done) }) { return }
            done(.refuse(Response(passwords.refusal)))
            undecided.wrappingSubtract(1, ordering: .releasing)
        }
    }

    private func decide(
        _ question: () throws(RootError) -> Admission, _ done: @escaping @Sendable (Admission) -> Void
    ) {
        settle(outcome(of: question), done)
        undecided.wrappingSubtract(1, ordering: .releasing)
    }

    private func outcome(of question: () throws(RootError) -> Admission) -> Admission {
        guard !hasAborted.load(ordering: .relaxed) else { return .refuse(Response(HTTPError.shuttingDown)) }
        do throws(RootError) {
            return try question()
        } catch {
            return .refuse(response(to: error))
        }
    }
}
