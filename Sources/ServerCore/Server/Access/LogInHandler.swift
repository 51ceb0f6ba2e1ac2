import DirectoryRoot

/// Log-in and log-out for browsers: `/.shareserve/login`, `/.shareserve/logout`; below a link with a password, `login`
/// is where the password is entered.
package struct LogInHandler: Handler {
    private let gate: Gate
    private let sessionEnds: @Sendable () -> Void

    /// A handler for a gate with accounts.
    /// - Parameters:
    ///   - gate: the gate whose sessions these are.
    ///   - sessionEnds: called after a session has ended.
    package init(_ gate: Gate, sessionEnds: @escaping @Sendable () -> Void = {}) {
        self.gate = gate
        self.sessionEnds = sessionEnds
    }

    package var methods: [Method] { [.get, .head, .post] }

    package func answer(_ request: Request) -> Answer {
        guard request.path.bytes.starts(with: Gate.reserved) else { return .pass }
        let link = Gate.link(of: request)
        guard gate.hasAccounts || link != nil else { return .pass }
        switch String(decoding: request.path.bytes, as: UTF8.self) {
        case ".shareserve/login":
            if request.method == .post { return .later(logIn) }
            guard request.method == .get || request.method == .head else {
                return .now(Self.notAllowed("GET, HEAD, POST"))
            }
            return .now(page(request, returnTo: request.queryValue("return") ?? "", isWrong: false, .ok))
        case ".shareserve/logout" where link == nil:
            guard request.method == .post else { return .now(Self.notAllowed("POST")) }
            return .later(logOut)
        default: return .pass
        }
    }

    private func logIn(_ request: Request) async throws -> Response {
        let form = PercentCoding.formFields(try await request.body.collect(upTo: 65_536), limit: 16)
        func field(_ name: String) -> [UInt8] { form.first { $0.name.elementsEqual(name.utf8) }?.value ?? [] }
        let user = TameText.text(field("user"))
        let place = TameText.text(field("return"))
        let (gate, peer, password) = (gate, request.storage.peer, field("password"))
        do {
            if let link = Gate.link(of: request) {
                let cookie = try await request.io.verify { try gate.logIn(link: link, password: password, request) }
                return leave(request, to: place, cookie: cookie)
            }
            let account = try await request.io.verify { try gate.logIn(user: user, password: password, peer: peer) }
            // Whatever session the browser had, a new one begins: nobody can have planted it.
            await endSessions(of: request)
            return leave(request, to: place, cookie: Self.cookie(gate.sessions.begin(for: account), request))
        } catch let error as HTTPError {
            guard Self.wantsPage(request), error.status == .unauthorized else { return Response(error) }
            return page(request, returnTo: place, isWrong: true, .unauthorized)
        }
    }

    private func logOut(_ request: Request) async -> Response {
        await endSessions(of: request)
        return leave(request, to: "", cookie: Self.cookie(nil, request))
    }

    private static func cookie(_ value: String?, _ request: Request) -> String {
        Sessions.setCookie(value, prefix: request.prefix, isSecure: request.scheme == "https")
    }

    private func endSessions(of request: Request) async {
        if await gate.endSessions(of: request) { sessionEnds() }
    }

    private func leave(_ request: Request, to place: String, cookie: String) -> Response {
        var response = Response(.noContent)
        if Self.wantsPage(request) {
            response = Response(.seeOther)
            response.fields["Location"] = Self.place(place, below: request.prefix)
        }
        response.fields["Set-Cookie"] = cookie
        response.fields["Cache-Control"] = "no-store"
        return response
    }

    private func page(_ request: Request, returnTo: String, isWrong: Bool, _ status: Status) -> Response {
        let link = Gate.link(of: request)
        var response = gate.logInPage(
            gate.logInPrompt(returnTo: returnTo, fields: request.fields, isWrong: isWrong, link: link))
        response.status = status
        response.fields["Cache-Control"] = "no-store"
        if status == .unauthorized {
            response.fields["WWW-Authenticate"] = link == nil ? Gate.sessionScheme : Gate.linkScheme
        }
        return response
    }

    private static func wantsPage(_ request: Request) -> Bool {
        request.fields["accept"]?.contains("text/html") == true
    }

    /// A place on this server to continue at: nothing that a browser would interpret as an address of another server.
    /// - Parameters:
    ///   - text: as requested in a form or a query.
    ///   - prefix: the server's path prefix.
    /// - Returns: the text if it is a harmless path below the prefix, else the share's own address.
    static func place(_ text: String, below prefix: String) -> String {
        let home = prefix + "/"
        let bytes = Array(text.utf8)
        guard text.hasPrefix(home), bytes.count <= 8_192, bytes.dropFirst().first != UInt8(ascii: "/"),
            bytes.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "\\") }),
            // Some browsers would take `/.//evil.example` for a host once the dot is removed.
            !text.contains("/./"), !text.contains("/../"),
            !text.hasPrefix(home + ".shareserve/login"), !text.hasPrefix(home + ".shareserve/logout")
        else { return home }
        return text
    }

    private static func notAllowed(_ allowed: String) -> Response {
        var response = Response.text(.methodNotAllowed, "Post a form here.")
        response.fields["Allow"] = allowed
        return response
    }
}
