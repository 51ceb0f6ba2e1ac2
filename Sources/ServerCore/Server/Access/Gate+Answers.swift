import DirectoryRoot

// Responses to clients that are not admitted.
extension Gate {
    /// The scheme in a 401 for pages: for Basic and Digest, a browser would open a window of its own over our page.
    static let sessionScheme = "Session realm=\"\(AccessRules.realm)\""
    /// The same for links.
    static let linkScheme = "Session realm=\"share link\""

    static func misdirected(_ authority: String) -> Response {
        let host = HostNames.host(of: authority)
        return .text(
            .misdirectedRequest,
            "This server does not know itself as “\(host)”. If that is its name, start it with --allowed-host \(host).")
    }

    static func slowDown(_ seconds: Int64) -> HTTPError {
        HTTPError(
            .tooManyRequests, "Too many wrong passwords. Try again in \(seconds) second\(seconds == 1 ? "" : "s").",
            fields: ["Retry-After": "\(seconds)"])
    }

    func challenge(
        _ head: RequestHeadView, _ rules: Rules, isStale: Bool = false, isWrong: Bool = false, nonce: String? = nil
    ) -> Response {
        // Without a page, the browser's own window is the only way in.
        if rules.logInPage != nil, Self.isBrowser(head), head.fields["authorization"] == nil {
            return askInPage(head, rules, words: "Log in to use this share.")
        }
        var response = Response.text(
            .unauthorized, isWrong ? "The user or the password is wrong." : "Log in to use this share.")
        let nonce = nonce ?? nonces.make()
        for (algorithm, isOffered) in [("SHA-256", rules.book.offersSHA256), ("MD5", rules.book.offersMD5)]
        where isOffered {
            response.fields.add(
                "WWW-Authenticate",
                "Digest realm=\"\(AccessRules.realm)\", qop=\"auth\", algorithm=\(algorithm), nonce=\"\(nonce)\""
                    + (isStale ? ", stale=true" : "") + ", charset=UTF-8")
        }
        response.fields.add("WWW-Authenticate", "Basic realm=\"\(AccessRules.realm)\", charset=\"UTF-8\"")
        return response
    }

    /// Responds with the log-in page, or tells the page's script to show its own form.
    /// - Parameters:
    ///   - head: the request.
    ///   - rules: those in force.
    ///   - words: the message for a script.
    ///   - link: the address of the link whose password is required; nil for accounts.
    /// - Returns: the response.
    func askInPage(_ head: RequestHeadView, _ rules: Rules, words: String, link: String? = nil) -> Response {
        var response = Response.text(.unauthorized, words)
        if let page = rules.logInPage, Self.asksForPage(head) {
            let target = RequestHead.text(head.head.target)
            response = page(logInPrompt(returnTo: target, fields: head.fields, isWrong: false, link: link))
            // A refused request has no task that would write a stream: its client would wait for ever.
            guard response.isSound, !response.body.isStream else {
                return .text(.internalServerError, "The server failed. Ask its administrator.")
            }
        }
        response.status = .unauthorized
        response.fields["Cache-Control"] = "no-store"
        response.fields["WWW-Authenticate"] = link == nil ? Self.sessionScheme : Self.linkScheme
        return response
    }

    /// Whether the request comes from a page or its script, so that our own log-in page is shown.
    static func isBrowser(_ head: RequestHeadView) -> Bool {
        let fields = head.fields
        // KDE's programs claim to be browsers, and ask for pages even with PROPFIND; they support only the standard
        // authentication schemes.
        guard let agent = fields["user-agent"], agent.hasPrefix("Mozilla/"), !agent.contains(" KIO/") else {
            return false
        }
        return asksForPage(head) || fields["sec-fetch-mode"] != nil || fields["origin"] != nil
            || fields["referer"] != nil
    }

    private static func asksForPage(_ head: RequestHeadView) -> Bool {
        (head.method == .get || head.method == .head) && head.fields["accept"]?.contains("text/html") == true
    }

    func logInPrompt(returnTo: String, fields: RequestFields, isWrong: Bool, link: String?) -> LogInPrompt {
        let prefix = link ?? prefix
        return LogInPrompt(
            action: prefix + "/.shareserve/login", returnTo: LogInHandler.place(returnTo, below: prefix),
            isForLink: link != nil, isWrong: isWrong, acceptLanguage: fields["accept-language"])
    }

    func logInPage(_ prompt: LogInPrompt) -> Response {
        let page = current.logInPage
        return page.map { $0(prompt) } ?? .text(.ok, "Log in with a user and a password.")
    }

    package func challenged(_ response: Response, for head: RequestHeadView) -> Response {
        let rules = current
        guard response.status == .forbidden, mayHelpToLogIn(head, rules) else { return response }
        let challenge = challenge(head, rules)
        var result = response
        result.status = challenge.status
        result.body = challenge.body
        result.fields["Content-Type"] = challenge.fields["Content-Type"]
        for line in challenge.fields.lines where line.name == "WWW-Authenticate" {
            result.fields.add(line.name, line.value)
        }
        return result
    }

    /// Whether the refused requester is not logged in, and some account has more rights.
    private func mayHelpToLogIn(_ head: RequestHeadView, _ rules: Rules) -> Bool {
        guard !rules.book.isEmpty, head.fields["authorization"] == nil, !root.policy.isReadOnly,
            head.method.isSafe || rules.origins.admits(head.fields, authority: head.authority),
            !head.head.contains("access-control-request-method"),
            let path = try? RequestTarget.decode(path: head.target.path, below: prefix).path,
            !path.bytes.starts(with: Self.linkMark)
        else { return false }
        if let cookies = head.fields["cookie"] {
            guard case .nobody = sessions.find(cookies: cookies, in: rules.book, waiting: false) else { return false }
        }
        // What the interface does is determined by request bodies: it may be anywhere.
        var places = [path.bytes.starts(with: Self.reserved) ? SharePath.root : path]
        if let field = head.fields["destination"],
            let target = try? RequestTarget(Array(field.utf8)[...], isReference: true),
            let destination = try? RequestTarget.decode(path: target.path, below: prefix).path
        {
            places.append(destination)
        }
        return rules.book.someoneMayMore(at: places)
    }
}
