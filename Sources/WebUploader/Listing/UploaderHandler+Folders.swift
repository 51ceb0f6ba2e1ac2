import DirectoryRoot
public import ServerCore

extension UploaderHandler {
    /// The forms of a response about a folder.
    private enum FolderForm {
        case page
        case text
        case json
        case html
        /// For a program that follows the links of a page.
        case links
        case archive(any ArchiveFormat, isCompressed: Bool)
    }

    /// GET and HEAD of a folder.
    func folder(_ request: Request) -> Answer {
        let form: FolderForm
        do {
            form = try self.form(for: request)
        } catch {
            return .now(Response(error))
        }
        if case .archive(let format, let isCompressed) = form {
            return .later { [self] in try await archive($0, format: format, isCompressed: isCompressed) }
        }
        if !request.hasTrailingSlash, needsSlash(form, isRoot: request.path.isRoot) {
            var address = request.href(request.path, isDirectory: true)
            if let query = request.query { address += "?" + query }
            return .now(Response(.temporaryRedirect, fields: ["Location": address, "Vary": Self.formVaries]))
        }
        if let index = index(for: request, form) { return index }
        return .later { [self] in try await respond(to: $0, as: form) }
    }

    /// A listing, unless the request's conditions fail: they apply only if the status would be 200.
    ///
    /// RFC 9110 §13.2.1.
    private func respond(to request: Request, as form: FolderForm) async throws -> Response {
        let response = try await self.response(to: request, as: form)
        guard response.status == .ok else { return response }
        switch Conditions(request.fields).evaluateUntagged() {
        case .proceed: return response
        case .failed: throw HTTPError(.preconditionFailed, "A folder's listing has no tag.")
        case .notModified:
            var fields: ResponseFields = [:]
            for name in ["Vary", "Cache-Control"] { fields[name] = response.fields[name] }
            return Response(.notModified, fields: fields)
        }
    }

    private func response(to request: Request, as form: FolderForm) async throws -> Response {
        switch form {
        case .page: try await folderPage(request)
        case .text: try await listing(request) { _ in TextListing() }
        case .html where request.queryValue("from") != nil: try await htmlPage(request)
        case .html, .links:
            try await listing(request) { [title = configuration.title] in
                var format = HTMLListing(
                    path: request.path.folderPath, address: request.folderAddress(request.path), rights: $0,
                    isDocument: true, title: title)
                if case .links = form {
                    format.isForPrograms = true
                    format.address = []
                }
                return format
            }
        case .json, .archive:
            try await listing(request) { [owners = try await lockOwners(request)] in
                JSONListing(
                    path: request.path.folderPath, rights: $0, address: request.folderAddress(request.path),
                    lockOwners: owners)
            }
        }
    }

    /// Whether the client prefers HTML: a browser that navigates.
    func wantsPage(_ request: Request) -> Bool { Self.liking(of: request, among: Self.types) == "text/html" }

    /// The types in which a folder is available; a client without a preference gets the first.
    private static let types = ["text/plain", "application/json", "text/html"]

    private static func liking(of request: Request, among types: [String]) -> String? {
        Negotiation.mediaType(accept: request.fields["accept"], offered: types)
    }

    private func form(for request: Request) throws(HTTPError) -> FolderForm {
        if let query = request.query, !query.isEmpty {
            if let (format, isCompressed) = try archiveFormat(for: request) {
                return .archive(format, isCompressed: isCompressed)
            }
            if request.queryValue("json") != nil { return .json }
            if request.queryValue("html") != nil { return .html }
        }
        let followsLinks = Self.followsLinks(request)
        switch Self.liking(of: request, among: followsLinks ? Self.types.reversed() : Self.types) {
        case "application/json": return .json
        case "text/html": return followsLinks ? .links : .page
        default: return .text
        }
    }

    /// The fields on which the form of a response depends.
    private static let formVaries = "Accept, User-Agent"

    /// Whether relative addresses in the response require a trailing slash in the request's address.
    /// - Parameters:
    ///   - form: the form of the response.
    ///   - isRoot: whether it is about the root of the share or of a link: their pages know their own address.
    /// - Returns: whether to redirect the client there.
    private func needsSlash(_ form: FolderForm, isRoot: Bool) -> Bool {
        switch form {
        case .page: !isRoot
        case .links: true
        case .text, .json, .html, .archive: false
        }
    }

    /// Whether the client follows the links of pages, like `wget -r`, lftp, rclone's `http` and text browsers, and yet
    /// accepts any media type.
    private static func followsLinks(_ request: Request) -> Bool {
        guard let agent = request.fields["user-agent"]?.lowercased() else { return false }
        let beginnings = ["wget/", "wget2/", "rclone/", "lftp/", "kodi", "httpdirfs", "links (", "elinks/", "netsurf/"]
        // fsspec, which reads data for pandas and others, sends only the name of its HTTP library.
        return beginnings.contains { agent.hasPrefix($0) } || ["httrack", "aiohttp/"].contains { agent.contains($0) }
    }

    /// The file that is served instead of a folder's page, if there is one.
    ///
    /// Not through a link that counts its downloads: the address is a folder's, which nobody counts.
    private func index(for request: Request, _ form: FolderForm) -> Answer? {
        guard let name = configuration.indexName, !request.share.countsDownloads else { return nil }
        switch form {
        case .json, .html, .archive: return nil
        case .page, .text, .links: break
        }
        guard let path = try? request.path.appending(name.utf8) else { return nil }
        let answer: @Sendable (Entry) -> Response = { entry in
            var response = FileResponder.respond(with: entry, to: request, named: Array(name.utf8))
            response.fields.merge("Vary", "Accept")
            response.fields.merge("Vary", "User-Agent")
            return response
        }
        do {
            let entry = try request.share.openToSend(path, waiting: false)
            return entry.attributes.isDirectory ? nil : .now(answer(entry))
        } catch {
            if error.meansAbsent { return nil }
            // If it can't be examined, the folder must not be shown in its place.
            guard error == .wouldBlock else { return .later { _ in throw error } }
            return .later { [self] request in
                do {
                    let entry = try await request.io.run { try request.share.openToSend(path) }
                    if !entry.attributes.isDirectory { return answer(entry) }
                } catch let error as RootError where error.meansAbsent {
                    // There is no such file.
                }
                return try await respond(to: request, as: form)
            }
        }
    }

    private func listing<Format: ListingFormat>(
        _ request: Request, as format: @escaping @Sendable (Rights) -> Format
    ) async throws -> Response {
        let fields = listingFields(format(.none).mediaType)
        let chosen = try names(request)
        if !chosen.isEmpty {
            let (members, rights) = try await request.io.run {
                (try request.share.members(chosen, of: request.path), request.share.effectiveRights(at: request.path))
            }
            var format = format(rights)
            var writer = TextWriter()
            format.write(members, to: &writer)
            return .whole(writer.take(), to: request, fields: fields)
        }
        if request.method == .head { return try .chunks(EmptyProducer(), to: request, fields: fields) }
        guard let slot = listings.take() else { throw RootError.tooMany }
        return try await request.io.run {
            let cursor = try request.share.list(request.path)
            let producer = ListingProducer(cursor, as: format(request.share.effectiveRights(at: request.path)))
            if let whole = try producer.whole() { return .whole(whole, to: request, fields: fields, level: 4) }
            return try .chunks(producer, to: request, fields: fields, until: slot)
        }
    }

    /// The names for which a listing is requested: each `name` of the query, a single component.
    private func names(_ request: Request) throws(HTTPError) -> [[UInt8]] {
        var names: [[UInt8]] = []
        for field in PercentCoding.formFields((request.query ?? "").utf8) where field.name.elementsEqual("name".utf8) {
            try names.append(ArchiveChoice.name(field.value))
        }
        return names
    }

    /// A part of a large folder, in the disk's order, with links to the parts before and after it.
    private func htmlPage(_ request: Request) async throws -> Response {
        guard let from = request.queryValue("from").flatMap({ Int($0) }), (0...Int(Int32.max)).contains(from) else {
            throw HTTPError(.badRequest, "“from” is the number of the first member to list, counted from 0.")
        }
        let count = HTMLListing.pageCount
        // Everything before it is read too.
        guard let slot = listings.take() else { throw RootError.tooMany }
        defer { withExtendedLifetime(slot) {} }
        let (members, isLast, rights) = try await request.io.look {
            let cursor = try request.share.list(request.path)
            var passed = 0
            while passed < from {
                let more = try cursor.next(min(512, from - passed))
                if more.isEmpty { break }
                passed += more.count
            }
            var members: [DirectoryMember] = []
            while members.count < count {
                let more = try cursor.next(count - members.count)
                if more.isEmpty { break }
                members += more
            }
            return (members, try cursor.next(1).isEmpty, request.share.effectiveRights(at: request.path))
        }
        var format = HTMLListing(
            path: request.path.folderPath, address: request.folderAddress(request.path),
            rights: rights, isDocument: true, title: configuration.title)
        format.previous = from > 0 ? max(0, from - count) : nil
        format.next = isLast ? nil : from + count
        var writer = TextWriter()
        format.write(members, to: &writer)
        return .whole(writer.take(), to: request, fields: listingFields(format.mediaType))
    }

    private func lockOwners(_ request: Request) async throws -> LockOwners {
        let locks = try await request.io.run { try request.share.locks(within: request.path) }
        return locks.isEmpty ? LockOwners() : LockOwners(locks, in: request.path)
    }

    private func listingFields(_ mediaType: String) -> ResponseFields {
        [
            "Content-Type": mediaType, "Vary": Self.formVaries, "Cache-Control": "no-cache",
            "Content-Security-Policy": "default-src 'none'; form-action 'self'; frame-ancestors 'none'",
        ]
    }

    private func folderPage(_ request: Request) async throws -> Response {
        var place = try await request.io.run {
            var place = PagePlace(
                path: request.path, rights: request.share.effectiveRights(at: request.path), members: [])
            do {
                let cursor = try request.share.list(request.path)
                place.version = cursor.attributes.folderVersion
                (place.members, place.isWhole) = try cursor.first(listingSortedCount)
            } catch RootError.forbidden {
                // A drop box: nothing to show, but files may be uploaded.
            }
            return place
        }
        place.lockOwners = try await lockOwners(request)
        return pageResponse(place, for: request)
    }

    /// The page as a response.
    func pageResponse(_ place: PagePlace, for request: Request) -> Response {
        .whole(
            page.page(of: place, for: PageVisitor(request)), to: request, status: place.status,
            fields: pageFields)
    }

    /// Makes the log-in page.
    public var logInPage: (@Sendable (LogInPrompt) -> Response)? {
        { [self] prompt in
            let place = PagePlace(path: .root, rights: [], status: .unauthorized, logIn: prompt)
            return Response(.ok, fields: pageFields, body: .bytes(page.page(of: place, for: PageVisitor(prompt))))
        }
    }

    private var pageFields: ResponseFields {
        [
            "Content-Type": "text/html; charset=utf-8", "Vary": "Accept, Accept-Language",
            "Cache-Control": "no-cache", "Content-Security-Policy": page.policy,
            "X-Frame-Options": "DENY",
        ]
    }
}

/// No bytes, for HEAD.
final class EmptyProducer: ChunkProducer {
    func next() throws -> [UInt8]? { nil }
}

extension Share {
    /// Those of the named members that exist.
    func members(_ names: [[UInt8]], of folder: SharePath) throws(RootError) -> [DirectoryMember] {
        var members: [DirectoryMember] = []
        for name in names {
            do throws(RootError) {
                let attributes = try attributes(of: folder.appending(name))
                members.append(DirectoryMember(name: name, attributes: attributes, mayHaveProperties: true))
            } catch {
                guard error.meansAbsent else { throw error }
            }
        }
        return members
    }
}
