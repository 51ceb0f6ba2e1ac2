import DirectoryRoot
public import ServerCore

/// The browser interface of a server: files and folders at their own addresses, the page, forms, archives, and below
/// `/.shareserve/` the page's interface and resumable uploads.
///
/// Answers every GET, HEAD and POST: handlers for addresses of their own are to be added after it.
public final class UploaderHandler: Handler {
    /// The methods at any address; below `/.shareserve/` there are more.
    public let methods: [Method] = [.get, .head, .post]

    let configuration: UploaderConfiguration
    private let parts: PageParts
    let checksums = ArchiveChecksums()
    let searches: Slots
    let listings: Slots
    let archives: Slots
    /// For long lists of what to delete or restore, which only the page sends.
    let batches = Slots(4)
    let trees = TreeMemory()
    /// For the folders that searches have yet to enter.
    let foldersToSearch = TreeMemory()
    let uploadsBoard = UploadsBoard()
    let eventStreams: EventStreams

    /// A handler with these settings.
    ///
    /// Reads the directory that replaces files of the page, if there is one, and waits for its disk; the page's own
    /// files are parsed when they are first needed.
    /// - Throws: ``RootError`` when that directory cannot be read.
    public init(_ configuration: UploaderConfiguration = UploaderConfiguration()) throws {
        self.configuration = configuration
        parts = try PageParts(configuration)
        searches = Slots(configuration.maxSearches)
        listings = Slots(configuration.maxListings)
        archives = Slots(configuration.maxArchives)
        eventStreams = EventStreams(limit: configuration.maxEventStreams)
    }

    var assets: AssetStore { parts.made.assets }
    var page: PageWriter { parts.made.page }
    var info: InfoDocument { parts.made.info }

    /// Decides from the head alone.
    public func answer(_ request: Request) -> Answer {
        guard request.fields.head.contains("if") else { return unconditionalAnswer(request) }
        // A read is certainly ours, and its file is opened only once, after its condition was found true; preparing any
        // other answer costs nothing.
        let isRead = (request.method == .get || request.method == .head) && ReservedPlace(request.path) == nil
        if !isRead, case .pass = unconditionalAnswer(request) { return .pass }
        return .later { [self] in try await conditionalAnswer($0) }
    }

    /// Applies WebDAV's `If` to what is read and written here too, and submits its lock tokens.
    ///
    /// RFC 4918 §10.4.
    private func conditionalAnswer(_ request: Request) async throws -> Response {
        let header = try IfHeader(header: request.fields["if"] ?? "")
        let asked: @Sendable () throws -> Bool = { try header.holds(for: request) }
        // Finding out whether a token is current takes a walk, of which few run at once.
        let holds =
            try await IfHeader.mayNameCollections(in: request) ? request.io.look(asked) : request.io.run(asked)
        guard holds else { throw RootError.preconditionFailed }
        let submitting = request.submitting(header)
        return try await finish(unconditionalAnswer(submitting), submitting)
    }

    private func unconditionalAnswer(_ request: Request) -> Answer {
        if let place = ReservedPlace(request.path) { return answer(request, at: place) }
        if beginsUpload(request) { return draft { [self] in try await createDraft($0) } }
        switch request.method {
        case .get, .head: return read(request)
        case .post: return post(request)
        default: return .pass
        }
    }

    /// Allows event streams.
    public func serverBegins() { eventStreams.begin() }

    /// Ends the event streams.
    public func serverEnds() { eventStreams.end() }

    /// Ends the event streams of users who were logged out.
    public func sessionEnds() { eventStreams.wakeOpen() }

    /// Ends the event streams; clients that still may can begin another one.
    public func accessChanges() { eventStreams.endOpen() }

    /// The hot path: a file that the kernel has cached is answered immediately.
    private func read(_ request: Request) -> Answer {
        do {
            let entry = try request.share.openToSend(request.path, waiting: false)
            return try answer(request, with: entry)
        } catch RootError.wouldBlock {
            return .later { [self] request in
                do {
                    let entry = try await request.io.run { try request.share.openToSend(request.path) }
                    return try await finish(answer(request, with: entry), request)
                } catch RootError.forbidden where request.method == .head {
                    return try await headOfArrival(request)
                } catch {
                    return try await finish(refuse(request, error), request)
                }
            }
        } catch RootError.forbidden where request.method == .head {
            return .later { [self] in try await headOfArrival($0) }
        } catch {
            return refuse(request, error)
        }
    }

    /// HEAD for a file that the requester has just uploaded, and may not read.
    private func headOfArrival(_ request: Request) async throws -> Response {
        do {
            guard !request.hasTrailingSlash else { throw RootError.forbidden }
            let entry = try await request.io.run { try request.share.openArrival(request.path) }
            return FileResponder.respond(with: entry, to: request)
        } catch {
            return try await finish(refuse(request, error), request)
        }
    }

    private func finish(_ answer: Answer, _ request: Request) async throws -> Response {
        switch answer {
        case .now(let response): response
        case .later(let work): try await work(request)
        case .onDisk(let work): try work(request)
        case .pass: throw HTTPError(RootError.notFound)
        }
    }

    private func answer(_ request: Request, with entry: Entry) throws(RootError) -> Answer {
        if entry.attributes.isDirectory { return folder(request) }
        // The address of a file has no trailing slash: with `file/`, a page's links would resolve to `file/x`.
        guard !request.hasTrailingSlash || request.path.isRoot else { throw .notFound }
        return FileResponder.answer(with: entry, to: request)
    }

    /// An error of a read: a person who followed a link gets the page with a helpful message, a program gets plain
    /// text.
    private func refuse(_ request: Request, _ error: any Error) -> Answer {
        // What failed on the disk is passed on to be logged.
        guard let refusal = HTTPError(of: error), refusal.cause == nil else { return .later { _ in throw error } }
        guard refusal.status == .notFound || refusal.status == .forbidden,
            request.method == .get || request.method == .head,
            wantsPage(request)
        else { return .now(Response(refusal)) }
        let place = PagePlace(path: request.path, rights: [], status: refusal.status)
        return .later { [self] in pageResponse(place, for: $0) }
    }
}
