package import DirectoryRoot
import Dispatch
import Synchronization

/// Decides which requests are admitted: by host names, origins, accounts and share links.
///
/// Asked before any handler.
package final class Gate: AccessControl {
    /// The rules in force, and what they are made from.
    private struct Setup {
        var given: AccessRules
        let bound: [String]
        var certified: [String] = []
        private(set) var inForce: Rules

        init(_ given: AccessRules, bound: [String]) {
            self.given = given
            self.bound = bound
            inForce = Rules(given, bound: bound, certified: [])
        }

        mutating func enforce() { inForce = Rules(given, bound: bound, certified: certified) }
    }

    /// The requester of a request.
    private enum Identity {
        case anonymous
        case user(AccountBook.Account)
        case wrong
        /// The response was right, but the nonce has expired: with the next one, for a client whose old nonce was
        /// known.
        case stale(nonce: String?)
        case mustWait(Int64)
    }

    let secret: ShareSecret
    let sessions: Sessions
    let linkSessions: LinkSessions
    let throttle: GuessThrottle
    /// For links that do not exist: any page can make its readers request some, which must not keep them from logging
    /// in.
    let linkThrottle: GuessThrottle
    let root: DirectoryRoot
    let prefix: String
    private let setup: Mutex<Setup>
    let nonces: Nonces
    let verified: VerifiedCredentials
    /// Nonces with which users have recently logged in by Digest: others' guesses keep these users out no more than
    /// those whose Basic password was verified.
    let verifiedNonces: VerifiedCredentials
    let downloads: CountedDownloads
    /// The uses of links that are counted, and may be given back.
    let openDownloads = DispatchGroup()

    /// Guards one root.
    /// - Parameters:
    ///   - rules: who may do what.
    ///   - root: the root that is guarded.
    ///   - prefix: the server's path prefix.
    ///   - bound: the hosts at which the server listens.
    ///   - clock: milliseconds that never go back.
    ///   - wall: milliseconds of the time of day.
    package init(
        _ rules: AccessRules, root: DirectoryRoot, prefix: String = "", bound: [String] = [],
        clock: @escaping @Sendable () -> Int64 = Gate.uptime, wall: @escaping @Sendable () -> Int64 = Gate.timeOfDay
    ) {
        self.root = root
        self.prefix = prefix
        setup = Mutex(Setup(rules, bound: bound))
        secret = ShareSecret(root: root)
        sessions = Sessions(secret: secret, ended: root.endedSessions, clock: wall)
        linkSessions = LinkSessions(secret: secret, clock: wall)
        throttle = GuessThrottle(clock: clock)
        linkThrottle = GuessThrottle(clock: clock)
        nonces = Nonces(secret: secret, clock: wall)
        verified = VerifiedCredentials(clock: clock)
        verifiedNonces = VerifiedCredentials(clock: clock)
        downloads = CountedDownloads(clock: clock)
        if rules.hasAccounts { secret.prepare() }
    }

    /// Milliseconds since some moment in the past.
    package static let uptime: @Sendable () -> Int64 = {
        // Beginning at 1, so that no time looks like "never".
        let passed = start.duration(to: ContinuousClock.now).components
        return passed.seconds * 1000 + passed.attoseconds / 1_000_000_000_000_000 + 1
    }
    private static let start = ContinuousClock.now

    /// Milliseconds since 1970.
    package static let timeOfDay: @Sendable () -> Int64 = {
        let now = Timestamp.now
        return now.seconds * 1000 + Int64(now.nanoseconds) / 1_000_000
    }

    /// Replaces the rules: users who are no longer in them, or have another password, are logged out immediately.
    ///
    /// The log-in page stays if they have none. May wait for the disk.
    package func replace(_ rules: AccessRules) {
        if rules.hasAccounts { secret.prepare() }
        setup.withLock { setup in
            // Not by `??`, which wraps a closure anew each time: after some ten thousand reloads, calling or releasing
            // it would overflow the stack.
            let page = setup.given.logInPage
            setup.given = rules
            if rules.logInPage == nil { setup.given.logInPage = page }
            setup.enforce()
        }
        verified.forgetAll()
    }

    /// Uses this log-in page if there is none.
    func offer(logInPage page: @escaping @Sendable (LogInPrompt) -> Response) {
        setup.withLock { setup in
            guard setup.given.logInPage == nil else { return }
            setup.given.logInPage = page
            setup.enforce()
        }
    }

    package func learn(ownNames names: [String]) {
        setup.withLock { setup in
            guard setup.certified != names else { return }
            setup.certified = names
            setup.enforce()
        }
    }

    var current: Rules { setup.withLock { $0.inForce } }

    // MARK: - Letting in

    package func rulesForEverybody(_ head: RequestHead) -> UInt64? {
        let rules = current
        guard rules.book.isEmpty, rules.origins.isEmpty, let host = head[.host], rules.knows(host: host) else {
            return nil
        }
        return rules.number
    }

    package func admit(_ head: RequestHeadView) -> Admission {
        let rules = current
        let fields = head.fields
        if head.method == .options, head.head.contains("access-control-request-method") {
            return .refuse(rules.origins.preflight(fields, methods: Self.corsMethods))
        }
        if let misdirected = misdirection(of: head, rules) { return .refuse(misdirected) }
        if !head.method.isSafe, !rules.origins.admits(fields, authority: head.authority) {
            return .refuse(
                .text(
                    .forbidden,
                    "A page of another site asked for this, or a proxy in between does not pass on Host. Sites can be "
                        + "allowed with --cors."))
        }
        guard !head.target.isAsterisk else {
            return .allow(Share(root: root, rights: RightsMap(rules: [])), prefix: prefix, path: .root)
        }
        let path: SharePath
        do {
            path = try RequestTarget.decode(path: head.target.path, below: prefix).path
        } catch {
            if let folder = PrefixFolders.answer(head, above: prefix, isReadOnly: root.policy.isReadOnly) {
                return admit(head, to: .root, rules).answering(folder)
            }
            return .refuse(Response(error))
        }
        if path.bytes.starts(with: Self.linkMark) { return admit(link: head, rules) }
        return admit(head, to: path, rules)
    }

    package func misdirection(of head: RequestHeadView) -> Response? { misdirection(of: head, current) }

    private func misdirection(of head: RequestHeadView, _ rules: Rules) -> Response? {
        guard rules.book.isEmpty, !rules.knows(authority: head.authority),
            !HostNames.isBare(head.authority) || Self.mayBeBrowser(head.fields)
        else { return nil }
        return Self.misdirected(head.authority)
    }

    private func admit(_ head: RequestHeadView, to path: SharePath, _ rules: Rules) -> Admission {
        guard !rules.book.isEmpty else {
            var share = Share(root: root, rights: rules.book.everybody ?? .init(rules: []))
            share.peer = head.peer
            return .allow(share, prefix: prefix(in: head), path: path)
        }
        guard let authorization = head.fields["authorization"] else {
            guard let cookies = head.fields["cookie"] else { return decide(.anonymous, head, path, rules) }
            return admit(cookies: cookies, waiting: false, head, to: path, rules)
        }
        let address = NetworkAddress(head.peer)
        switch Credentials(field: authorization) {
        case .malformed: return decide(.wrong, head, path, rules)
        case .digest(let digest): return decide(identify(digest, head, address, rules), head, path, rules)
        case .basic(let user, let password):
            if let name = verified.user(user, password, under: rules.number), let account = rules.book.account(name) {
                return decide(.user(account), head, path, rules)
            }
            guard rules.book.isSlow else {
                return decide(identify(user, password, address, rules), head, path, rules)
            }
            return .verify { [self] in decide(identify(user, password, address, rules), head, path, rules) }
        }
    }

    private func admit(
        cookies: String, waiting: Bool, _ head: RequestHeadView, to path: SharePath, _ rules: Rules
    ) -> Admission {
        switch sessions.find(cookies: cookies, in: rules.book, waiting: waiting) {
        case .nobody: decide(.anonymous, head, path, rules)
        case .found(let account, _): decide(.user(account), head, path, rules)
        case .mustWait:
            .check { [self] in admit(cookies: cookies, waiting: true, head, to: path, rules) }
        }
    }

    package func stillAdmits(_ head: RequestHeadView, of user: String?) -> Bool {
        let rules = current
        if let link = linkTarget(of: head) { return isOpen(link: link, rules) }
        // Credentials in the head are valid until the rules change.
        guard let user, head.fields["authorization"] == nil, let cookies = head.fields["cookie"] else { return true }
        guard case .found(let account, _) = sessions.find(cookies: cookies, in: rules.book, waiting: true) else {
            return false
        }
        return account.name == user
    }

    private func identify(_ user: String, _ password: [UInt8], _ address: NetworkAddress?, _ rules: Rules) -> Identity {
        // Of many concurrent requests with the same credentials, the first has paid for all.
        if let name = verified.user(user, password, under: rules.number), let account = rules.book.account(name) {
            return .user(account)
        }
        let counted = rules.book.countedName(user)
        if let wait = throttle.wait(address: address, user: counted) { return .mustWait(wait) }
        let account =
            rules.book.verify(user: user, password: password)
            ?? Credentials.inUTF8(password).flatMap { rules.book.verify(user: user, password: $0) }
        guard let account else {
            throttle.fail(address: address, user: counted)
            return .wrong
        }
        throttle.succeed(address: address, user: counted)
        verified.remember(user, password, account: account.name, under: rules.number)
        return .user(account)
    }

    private func identify(
        _ digest: DigestCredentials, _ head: RequestHeadView, _ address: NetworkAddress?, _ rules: Rules
    ) -> Identity {
        let counted = rules.book.countedName(digest)
        let isKnown = verifiedNonces.user(counted, digest.nonce, under: rules.number) != nil
        if !isKnown, let wait = throttle.wait(address: address, user: counted) { return .mustWait(wait) }
        // Credentials for another address or realm are not for this request.
        guard digest.realm.elementsEqual(AccessRules.realm.utf8), Self.names(digest.uri, head.head.target) else {
            return .wrong
        }
        guard let account = rules.book.verify(digest, method: head.method.rawValue) else {
            verifiedNonces.forget(counted, digest.nonce, under: rules.number)
            throttle.fail(address: address, user: counted)
            return .wrong
        }
        guard nonces.use(digest.nonce, count: digest.count) == .fresh else {
            guard isKnown else { return .stale(nonce: nil) }
            // Otherwise a user who has been logged in all the time would wait for others' guesses every five minutes.
            let next = nonces.make()
            verifiedNonces.remember(counted, Array(next.utf8), account: account.name, under: rules.number)
            return .stale(nonce: next)
        }
        throttle.succeed(address: address, user: counted)
        verifiedNonces.remember(counted, digest.nonce, account: account.name, under: rules.number)
        return .user(account)
    }

    /// Whether a Digest's `uri` is the request's target; one of the two may be in the absolute form.
    private static func names(_ uri: [UInt8], _ target: ArraySlice<UInt8>) -> Bool {
        func origin(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
            for scheme in ["http://", "https://"]
            where ASCII.equalIgnoringCase(text.prefix(scheme.utf8.count), scheme.utf8) {
                return text.dropFirst(scheme.utf8.count).drop { $0 != UInt8(ascii: "/") }
            }
            return text
        }
        return origin(uri[...]).elementsEqual(origin(target))
    }

    // MARK: - Deciding

    private func decide(_ identity: Identity, _ head: RequestHeadView, _ path: SharePath, _ rules: Rules) -> Admission {
        switch identity {
        case .mustWait(let seconds): return .refuse(Response(Self.slowDown(seconds)))
        case .wrong: return .refuse(challenge(head, rules, isWrong: true))
        case .stale(let nonce): return .refuse(challenge(head, rules, isStale: true, nonce: nonce))
        case .user(let account):
            let share = Share(root: root, rights: account.rights, user: account.name)
            return .allow(share, prefix: prefix(in: head), path: path)
        case .anonymous:
            let rights = rules.book.everybody ?? RightsMap(rules: [])
            guard Self.mayEnter(rights, head.method, path) else {
                return .refuse(challenge(head, rules))
            }
            var share = Share(root: root, rights: rights)
            share.peer = head.peer
            return .allow(share, prefix: prefix(in: head), path: path)
        }
    }

    /// Whether an anonymous request may proceed; if not, logging in may help.
    static func mayEnter(_ rights: RightsMap, _ method: Method, _ path: SharePath) -> Bool {
        if path.bytes.starts(with: reserved) {
            let rest = path.bytes.dropFirst(reserved.count)
            let isOpen = openPlaces.contains { rest.starts(with: $0.utf8) }
            return isOpen || rights.rules.contains { !$0.rights.isEmpty }
        }
        let here = rights.rights(at: path)
        switch method {
        case .put, .patch, .lock: return !here.isDisjoint(with: [.create, .overwrite])
        case .mkcol: return here.contains(.create)
        case .delete, .move: return here.contains(.delete)
        case .copy: return here.contains(.read)
        case .proppatch: return here.contains(.overwrite)
        default: return !here.isEmpty || rights.leadsToReadable(below: path)
        }
    }

    static let reserved = Array(".shareserve/".utf8)
    static let linkMark = Array(".shareserve/s/".utf8)
    /// Needed by clients that are not logged in yet, and for monitoring.
    private static let openPlaces = ["assets/", "login", "logout", "health"]
    private static let corsMethods = Method.known.map(\.rawValue).joined(separator: ", ")

    /// Whether a browser may have sent this, on behalf of a page that may be anybody's.
    ///
    /// Every browser sends `Accept-Language`, and no page can prevent that. Any other program acts for the person who
    /// started it, with the name that they gave: in a container or behind a proxy, a name without a dot is usual.
    private static func mayBeBrowser(_ fields: RequestFields) -> Bool {
        let telling = ["accept-language", "origin", "cookie", "sec-fetch-site", "sec-fetch-mode"]
        return telling.contains { fields[$0] != nil } || fields["user-agent"]?.hasPrefix("Mozilla/") == true
    }

    /// Whether there is any account to log in to.
    package var hasAccounts: Bool { !current.book.isEmpty }

    /// Checks a user name and password from the log-in page; may take long.
    /// - Parameters:
    ///   - user: as typed.
    ///   - password: as typed.
    ///   - peer: the client's address.
    /// - Returns: the account.
    /// - Throws: ``HTTPError`` 401 when one is wrong, 429 when the client must wait.
    func logIn(user: String, password: [UInt8], peer: String) throws(HTTPError) -> AccountBook.Account {
        let rules = current
        switch identify(user, password, NetworkAddress(peer), rules) {
        case .user(let account): return account
        case .mustWait(let seconds): throw Self.slowDown(seconds)
        default:
            throw HTTPError(
                .unauthorized, "The user or the password is wrong.", fields: ["WWW-Authenticate": Self.sessionScheme])
        }
    }

    /// Ends the sessions in a request's cookies; waits for the disk.
    /// - Returns: whether there was one.
    func endSessions(of request: Request) async -> Bool {
        guard let cookies = request.fields["cookie"] else { return false }
        let (sessions, book) = (sessions, current.book)
        do {
            return try await request.io.run { try sessions.end(cookies: cookies, in: book) }
        } catch {
            // It has ended for this process, and the browser has dropped it: a disk error changes nothing for the user
            // who logs out.
            return true
        }
    }

    package func addFields(to response: inout Response, for head: RequestHeadView) {
        let rules = current
        if !rules.origins.isEmpty { rules.origins.addFields(to: &response, for: head.fields["origin"]) }
        if let hsts = rules.hsts, head.scheme == "https" { response.fields["Strict-Transport-Security"] = hsts }
        if response.fields["Cache-Control"] == "no-store" { renewSession(&response, for: head, rules) }
        SecurityFields.add(to: &response.fields)
    }

    /// Renews a session whose cookie is no longer new, in responses that are not cached.
    private func renewSession(_ response: inout Response, for head: RequestHeadView, _ rules: Rules) {
        guard !rules.book.isEmpty, !response.fields.contains("Set-Cookie"), head.fields["authorization"] == nil,
            let cookies = head.fields["cookie"],
            case .found(let account, let ticket) = sessions.find(cookies: cookies, in: rules.book, waiting: false),
            let cookie = sessions.renewed(ticket, of: account)
        else { return }
        response.fields["Set-Cookie"] = Sessions.setCookie(cookie, prefix: prefix, isSecure: head.scheme == "https")
    }
}
