import DirectoryRoot
import Dispatch

// Share links: `/.shareserve/s/<token>/…` is the link's file or folder as a share of its own, with nothing beside it.
extension Gate {
    func admit(link head: RequestHeadView, _ rules: Rules) -> Admission {
        guard let segment = linkTarget(of: head)?.prefix(while: { $0 != UInt8(ascii: "/") }),
            let token = LinkToken(segment)
        else { return .refuse(Self.noLink) }
        let prefix = "\(prefix(in: head))/.shareserve/s/\(String(decoding: segment, as: UTF8.self))"
        let path: SharePath
        do {
            path = try RequestTarget.decode(path: head.target.path, below: prefix).path
        } catch {
            return .refuse(Response(error))
        }
        // The links are stored in a file: read on the pool.
        return .check { [self] () throws(RootError) in
            try open(token, head, prefix: prefix, path: path, rules)
        }
    }

    package func giveBack(within limit: Duration) {
        _ = openDownloads.wait(timeout: .now() + .milliseconds(Int(limit / .milliseconds(1))))
    }

    /// The part of an address after the prefix of links, beginning with the token; nil for every other address.
    func linkTarget(of head: RequestHeadView) -> ArraySlice<UInt8>? {
        let rest = RequestTarget.rest(of: head.target.path, below: prefix + "/.shareserve/s")
        return rest?.isEmpty == false ? rest?.dropFirst() : nil
    }

    /// The address of the link through which a request was made; nil for the share itself.
    static func link(of request: Request) -> String? {
        let prefix = request.prefix
        return token(of: prefix) == nil ? nil : prefix
    }

    /// The token at the end of a link's own address.
    private static func token(of prefix: String) -> LinkToken? {
        let parts = prefix.utf8.split(separator: UInt8(ascii: "/"))
        guard parts.count >= 3, parts[parts.count - 3].elementsEqual(".shareserve".utf8),
            parts[parts.count - 2].elementsEqual("s".utf8)
        else { return nil }
        return LinkToken(parts[parts.count - 1])
    }

    private func open(
        _ token: LinkToken, _ head: RequestHeadView, prefix: String, path: SharePath, _ rules: Rules
    ) throws(RootError) -> Admission {
        let address = NetworkAddress(head.peer)
        guard let link = try root.links.link(id: token.id), token.opens(hash: link.secretHash) else {
            // By address only: guessing at a link must not lock out those who have it.
            if let wait = linkThrottle.wait(address: address, user: nil) {
                return .refuse(Response(Self.slowDown(wait)))
            }
            linkThrottle.fail(address: address, user: nil, guess: token.hashValue)
            return .refuse(Self.noLink)
        }
        guard let hash = link.passwordHash else { return try open(link, head, prefix: prefix, path: path, rules) }
        if Self.isNeededToLogIn(path) {
            return .allow(share(of: link, RightsMap(rules: [])), prefix: prefix, path: path)
        }
        if let cookies = head.fields["cookie"], linkSessions.admits(cookies: cookies, to: link) {
            return try open(link, head, prefix: prefix, path: path, rules)
        }
        guard case .basic(_, let password)? = head.fields["authorization"].map(Credentials.init(field:)) else {
            return .refuse(asksPassword(head, rules, prefix: prefix))
        }
        if verified.user(Self.name(of: link), password, under: rules.number) != nil {
            return try open(link, head, prefix: prefix, path: path, rules)
        }
        return .verify { [self] () throws(RootError) in
            do throws(HTTPError) {
                try verify(password, hash, of: link, address, rules)
            } catch {
                return .refuse(error.status == .unauthorized ? Self.basic() : Response(error))
            }
            return try open(link, head, prefix: prefix, path: path, rules)
        }
    }

    /// Checks a link's password; may take long.
    /// - Throws: ``HTTPError`` 401 when it is wrong, 429 when the client must wait.
    private func verify(
        _ password: [UInt8], _ hash: String, of link: ShareLink, _ address: NetworkAddress?, _ rules: Rules
    ) throws(HTTPError) {
        let name = Self.name(of: link)
        if let wait = throttle.wait(address: address, user: name) { throw Self.slowDown(wait) }
        guard verified.user(name, password, under: rules.number) != nil || matches(password, hash) else {
            throttle.fail(address: address, user: name)
            throw HTTPError(
                .unauthorized, "The password is wrong.", fields: ["WWW-Authenticate": Self.linkScheme])
        }
        throttle.succeed(address: address, user: name)
        verified.remember(name, password, account: name, under: rules.number)
    }

    /// Checks a link's password from its log-in page; may take long, and waits for the disk.
    /// - Parameters:
    ///   - prefix: the link's own address, as returned by ``link(of:)``.
    ///   - password: as typed.
    ///   - request: the page's request.
    /// - Returns: the `Set-Cookie` field that admits the browser.
    /// - Throws: ``HTTPError`` 401 when it is wrong, 404 when the link no longer exists, 429 when the client must wait;
    ///   what the disk reports.
    func logIn(link prefix: String, password: [UInt8], _ request: Request) throws -> String {
        guard let token = Self.token(of: prefix), let link = try root.links.link(id: token.id),
            token.opens(hash: link.secretHash), let hash = link.passwordHash
        else { throw HTTPError(.notFound, Self.noLinkText) }
        try verify(password, hash, of: link, NetworkAddress(request.storage.peer), current)
        return linkSessions.begin(link, prefix: prefix, isSecure: request.scheme == "https")
    }

    /// The name under which guesses at a link's password are counted.
    private static func name(of link: ShareLink) -> String { "link \(link.id)" }

    private static func isNeededToLogIn(_ path: SharePath) -> Bool {
        guard path.bytes.starts(with: reserved) else { return false }
        let rest = path.bytes.dropFirst(reserved.count)
        return rest.starts(with: "assets/".utf8) || rest.elementsEqual("login".utf8)
    }

    /// Admits a request that has the link, and its password if it has one.
    private func open(
        _ link: ShareLink, _ head: RequestHeadView, prefix: String, path: SharePath, _ rules: Rules
    ) throws(RootError) -> Admission {
        if path.bytes.starts(with: Self.reserved) {
            let rest = path.bytes.dropFirst(Self.reserved.count)
            guard Self.linkPlaces.contains(where: { rest.starts(with: $0.utf8) }) else { return .refuse(Self.noLink) }
        }
        guard let rights = rights(of: link, rules) else { return .refuse(Self.noLink) }
        var share = share(of: link, rights)
        share.peer = head.peer
        share.countsDownloads = link.downloadsLeft != nil
        var inside = path
        if !path.isRoot, link.path.bytes.hasLast(path.bytes), try share.attributes(of: .root).kind == .file {
            // The address of a file's link may be followed by the file's name, for clients that save it under the last
            // component.
            inside = .root
        }
        guard share.countsDownloads, try isContent(inside, in: share, head) else {
            return .allow(share, prefix: prefix, path: inside)
        }
        let download = CountedDownloads.Key(
            link: link.id, address: NetworkAddress(head.peer)?.network,
            target: inside.bytes + [0] + (head.target.query ?? []))
        // Players look at the beginning again after a pause.
        if head.method != .post, Self.goesOn(head) || Self.looksAtBeginning(head), downloads.contains(download) {
            return .allow(share, prefix: prefix, path: inside)
        }
        // A HEAD request uses nothing up, and gets the same result as a download.
        if head.method == .head {
            return link.downloadsLeft == 0 ? .refuse(Self.usedUp) : .allow(share, prefix: prefix, path: inside)
        }
        // Nor does a player's look at the beginning: it would keep others from the last use, if only for a moment.
        if Self.looksAtBeginning(head), link.downloadsLeft != 0, try share.attributes(of: inside).kind == .file {
            return .count(share, prefix: prefix, path: inside) { [root] isDownload in
                if isDownload { try? root.links.countDownload(id: link.id) }
            }
        }
        do throws(RootError) {
            try root.links.countDownload(id: link.id)
        } catch .unknownToken {
            return .refuse(Self.usedUp)
        }
        // The address of a POST does not contain what was selected.
        let mayGoOn = head.method == .get
        // If even that can't be written, the count is one more than there were: never one less.
        let counted = CountedDownload(among: openDownloads) { [root] in
            try? root.links.giveBackDownload(id: link.id)
        }
        return .count(share, prefix: prefix, path: inside) { [downloads] isDownload in
            counted.settle(isDownload)
            if isDownload, mayGoOn { downloads.add(download) }
        }
    }

    /// What the link's holders see.
    private func share(of link: ShareLink, _ rights: RightsMap) -> Share {
        var share = Share(root: root, base: link.path, rights: rights)
        share.isGuest = true
        return share
    }

    /// Whether the link at the beginning of `target` still exists; its password was checked when it was opened.
    func isOpen(link target: some Collection<UInt8>, _ rules: Rules) -> Bool {
        guard let token = LinkToken(Array(target.prefix { $0 != UInt8(ascii: "/") })) else { return false }
        do throws(RootError) {
            guard let link = try root.links.link(id: token.id), token.opens(hash: link.secretHash) else { return false }
            return rights(of: link, rules) != nil
        } catch {
            return false
        }
    }

    /// The rights that a link grants: no more than its maker has now, there and at every place below it that has a rule
    /// of its own.
    /// - Returns: nil when its maker no longer exists.
    private func rights(of link: ShareLink, _ rules: Rules) -> RightsMap? {
        var limits = rules.book.everybody ?? RightsMap(rules: [])
        var here = link.rights
        if let creator = link.creator {
            if !creator.isEmpty, !rules.book.isEmpty {
                guard let account = rules.book.account(creator) else { return nil }
                limits = account.rights
            }
            // In whatever spelling its path was given, it may be the place of a rule.
            here.formIntersection(Share(root: root, rights: limits).granted(at: link.path))
        }
        let below = limits.rules(below: link.path)
            .map { (path: $0.path, rights: $0.rights.intersection(link.rights)) }
        return RightsMap(rules: [(link.path, here)] + below)
    }

    private func matches(_ password: [UInt8], _ hash: String) -> Bool {
        guard let stored = try? StoredPassword(hash) else { return false }
        return stored.matches(password, user: [], realm: AccessRules.realm)
            || Credentials.inUTF8(password).map { stored.matches($0, user: [], realm: AccessRules.realm) } == true
    }

    private func asksPassword(_ head: RequestHeadView, _ rules: Rules, prefix: String) -> Response {
        guard rules.logInPage != nil, Self.isBrowser(head), head.fields["authorization"] == nil else {
            return Self.basic()
        }
        return askInPage(head, rules, words: "This link needs its password.", link: prefix)
    }

    private static func basic() -> Response {
        var response = Response.text(.unauthorized, "This link needs its password; any user name will do.")
        response.fields["WWW-Authenticate"] = "Basic realm=\"share link\", charset=\"UTF-8\""
        return response
    }

    /// Whether a request may continue a download: it asks for one span that does not begin at the start.
    private static func goesOn(_ head: RequestHeadView) -> Bool {
        guard let range = head.fields["range"] else { return false }
        let text = range.utf8.filter { !ASCII.isBlank($0) }
        guard ASCII.equalIgnoringCase(text.prefix(6), "bytes=".utf8) else { return false }
        let first = text.dropFirst(6).prefix { $0 != UInt8(ascii: "-") }
        return !text.contains(UInt8(ascii: ",")) && first.contains { $0 != UInt8(ascii: "0") }
            && first.allSatisfy(ASCII.isDigit)
    }

    /// Whether a request can get no more of a file than the first two bytes: Apple's players ask for these first, to see
    /// whether ranges are served.
    private static func looksAtBeginning(_ head: RequestHeadView) -> Bool {
        // Another validator, or a client that takes no file as it is, gets the whole in spite of a range.
        guard head.method == .get, head.fields["if-range"] == nil,
            ["identity", nil].contains(head.fields["accept-encoding"]), let range = head.fields["range"]
        else { return false }
        return range == "bytes=0-1" || range == "bytes=0-0"
    }

    /// Whether a request is for what people download: a file, or an archive.
    private func isContent(_ path: SharePath, in share: Share, _ head: RequestHeadView) throws(RootError) -> Bool {
        guard [.get, .head, .post].contains(head.method), !path.bytes.starts(with: Self.reserved) else { return false }
        if try share.attributes(of: path).kind == .file { return head.method != .post }
        return head.target.query.map { PercentCoding.formFields($0) }?
            .contains { $0.name.elementsEqual("archive".utf8) } ?? false
    }

    private static let linkPlaces = ["assets/", "info", "search", "events", "uploads", "qr"]

    private static var usedUp: Response { .text(.gone, "This link was used as often as it may be.") }

    private static var noLink: Response {
        .text(.notFound, noLinkText)
    }
    private static let noLinkText = "There is no such link, or it is over. Ask the one who sent it for a new one."
}

extension [UInt8] {
    /// Whether the last component of this path is `name`.
    fileprivate func hasLast(_ name: [UInt8]) -> Bool {
        let last = lastIndex(of: UInt8(ascii: "/")).map { self[($0 + 1)...] } ?? self[...]
        return last.elementsEqual(name)
    }
}
