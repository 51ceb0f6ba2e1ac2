import DirectoryRoot
import ServerCore

/// Creates, lists and ends share links for the page.
extension UploaderHandler {
    func links(_ request: Request, at place: ReservedPlace) -> Answer {
        guard place.components.count == 1, configuration.allowsLinks else {
            return .now(Response(HTTPError(RootError.notFound)))
        }
        return allow([.get, .head, .post, .delete], request) {
            switch request.method {
            case .post: .later { [self] in try await makeLink($0) }
            case .delete: .later { [self] in try await revokeLink($0) }
            default: .later { [self] in try await linkListing($0) }
            }
        }
    }

    private struct Wish: Decodable {
        /// Relative to the requester's share, as text.
        var path: String?
        /// The same as an address, if a name is not valid text.
        var href: String?
        /// In seconds from now; never when missing.
        var expires: Double?
        /// Whether the link's holder may add files; only for a folder.
        var upload: Bool?
        /// No password when it is missing or empty.
        var password: String?
        /// The most downloads of files and archives; unlimited when missing.
        var maxDownloads: Int64?
    }

    private func makeLink(_ request: Request) async throws -> Response {
        let wish = try await request.document(Wish.self)
        let share = request.share
        let said = try wish.href.map { try request.resolve(reference: $0).path }
        guard let place = try said ?? wish.path.map({ try SharePath(bytes: $0.utf8) }) else {
            throw HTTPError(.badRequest, "Say what the link shows: `path` is missing.")
        }
        if let count = wish.maxDownloads, !(1...1_000_000_000).contains(count) {
            throw HTTPError(.badRequest, "A link allows at least one download.")
        }
        if let seconds = wish.expires, !(1...3_155_760_000).contains(seconds) {
            throw HTTPError(.badRequest, "A link's life is between a second and a hundred years.")
        }
        let expires = wish.expires.map { Timestamp(seconds: HTTPDate.now + Int64($0)) }
        let downloads = wish.maxDownloads
        let wantsUpload = wish.upload == true
        let password = wish.password.flatMap { $0.isEmpty ? nil : $0 }
        let io = request.io(for: place)
        try io.requireAnswering()
        let (link, secret, isDirectory) = try await io.run { () throws -> (ShareLink, String, Bool) in
            // The target of a symbolic link: through the link itself, nothing would be found, and it would not be
            // followed when it is moved.
            let (attributes, path) = try share.place(of: place)
            // Nobody can grant rights that they do not have, and a link's holder can't create links.
            let mine = share.effectiveRights(at: place).intersection(share.effectiveRights(at: path))
            guard mine.contains(.read), !wantsUpload || mine.contains(.create), !share.isGuest else {
                throw RootError.forbidden
            }
            let rights: Rights = wantsUpload && attributes.isDirectory ? [.read, .create] : .readOnly
            let (secret, hash) = LinkToken.makeSecret()
            let link = try share.root.links.create(
                ShareLink(
                    secretHash: hash, path: path, rights: rights, expires: expires,
                    passwordHash: try password.map { try Self.hash($0) },
                    downloadsLeft: downloads, creator: share.user ?? ""))
            return (link, secret, attributes.isDirectory)
        }
        let token = LinkToken.text(id: link.id, secret: secret)
        // A client that saves a file under the last component of its address gets the file's own name.
        let name = isDirectory ? [] : Array(link.path.name)
        let address = request.prefix + "/.shareserve/s/" + token + "/" + URICharacters.unreservedPath.text(name)
        var writer = TextWriter()
        writer.json(link, from: share.base, address: address)
        writer.raw("\n")
        var response = Response.json(writer.take(), status: .created)
        response.fields["Location"] = address
        return response
    }

    // Of the kind that every libcrypt supports; `shareserve link` makes the stronger yescrypt. Both are verified in the
    // same way.
    private static func hash(_ password: String) throws -> String {
        do {
            return try PasswordHash.sha512.make(password: password, user: "")
        } catch {
            throw HTTPError(.badRequest, "This password cannot be used: it is empty or too long.")
        }
    }

    private func linkListing(_ request: Request) async throws -> Response {
        let wanted = try request.queryBytes("path").map { (bytes) throws(HTTPError) -> SharePath in
            guard let place = try? SharePath(bytes: bytes) else { throw HTTPError(RootError.invalidName) }
            return place
        }
        let io = wanted.map { request.io(for: $0) } ?? request.io
        try io.requireAnswering()
        let links = try await io.run { () throws -> [ShareLink] in
            let links = try self.ownLinks(request)
            // Only requesters who see the whole share have any links.
            guard let wanted else { return links }
            // A link is stored with the real path of its target.
            let real = try? request.share.place(of: wanted).realPath
            return links.filter { $0.path == wanted || $0.path == real }
        }
        var writer = TextWriter()
        writer.raw(#"{"items":["#)
        var count = 0
        for link in links {
            writer.raw(count > 0 ? ",\n" : "\n")
            count += 1
            writer.json(link, from: request.share.base, address: nil)
        }
        writer.raw("\n]}\n")
        return .json(writer.take())
    }

    private func revokeLink(_ request: Request) async throws -> Response {
        guard let id = request.queryValue("id") else { throw HTTPError(.badRequest, "Name the link: `id` is missing.") }
        try await request.io.run {
            // One that has expired might be open again if the clock is set back.
            guard try self.ownLinks(request, includingExpired: true).contains(where: { $0.id == id }) else {
                throw RootError.unknownToken
            }
            try request.share.root.links.revoke(id: id)
        }
        // Requesters who came by it must not be told any more about the folder.
        eventStreams.wakeOpen()
        return Response(.noContent)
    }

    /// The links that this requester has created; for visitors without a name, all that such visitors have created for
    /// places that they may read.
    ///
    /// A requester without a name who may do everything everywhere also has those that were created on the server's
    /// machine.
    private func ownLinks(_ request: Request, includingExpired: Bool = false) throws -> [ShareLink] {
        let share = request.share
        guard !share.isGuest else { throw RootError.forbidden }
        let ownsAll = share.user == nil && share.allows(.readWrite, throughout: .root)
        return try share.root.links.all(includingExpired: includingExpired).filter { link in
            (link.creator == share.user ?? "" || ownsAll && link.creator == nil)
                && share.granted(at: link.path).contains(.read)
        }
    }
}

extension TextWriter {
    /// Writes a link; its address only when it is created, since the secret is not stored.
    mutating func json(_ link: ShareLink, from base: SharePath, address: String?) {
        raw(#"{"id":"#)
        json(link.id)
        raw(#","path":"#)
        json([UInt8(ascii: "/")] + (link.path.relative(to: base) ?? link.path).bytes)
        raw(#","address":"#)
        if let address { json(address) } else { raw("null") }
        raw(#","expires":"#)
        if let expires = link.expires { integer(expires.milliseconds) } else { raw("null") }
        raw(#","created":"#)
        integer(link.created.milliseconds)
        raw(#","upload":"#)
        json(link.rights.contains(.create))
        raw(#","password":"#)
        json(link.passwordHash != nil)
        raw(#","downloadsLeft":"#)
        if let left = link.downloadsLeft { integer(left) } else { raw("null") }
        raw("}")
    }
}
