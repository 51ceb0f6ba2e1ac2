internal import DirectoryRoot
public import ServerCore

/// WebDAV, classes 1, 2 and 3, at every address of the share.
///
/// RFC 4918.
///
/// GET, HEAD and POST are left to other handlers.
public struct WebDAVHandler: Handler {
    private let service: DAVService

    /// Creates a handler.
    /// - Parameter options: its limits.
    public init(options: WebDAVOptions = WebDAVOptions()) {
        service = DAVService(options)
    }

    /// The methods that it handles.
    public var methods: [Method] { Self.table.map(\.method) }

    /// Handles every WebDAV method, PUT, DELETE and OPTIONS; passes the rest on.
    /// - Parameter request: the request's header section.
    /// - Returns: a task for the response, or ``Answer/pass``.
    public func answer(_ request: Request) -> Answer {
        guard let entry = Self.table.first(where: { $0.method == request.method }), !Self.isAnothers(request) else {
            return .pass
        }
        // Whether the `If` field holds can take a walk over a tree.
        if IfHeader.mayNameCollections(in: request) { return later(entry.run) }
        // Malformed requests are refused by the slower way.
        switch request.method {
        case .options:
            guard let asked = try? DAVRequest(request, to: service), let response = asked.optionsAtOnce() else { break }
            return .now(response)
        case .propfind:
            guard let asked = try? DAVRequest(request, to: service), let selection = asked.knownSelection(),
                let depth = try? Depth(of: request, missing: .infinity)
            else { break }
            // Its tree is counted first.
            if depth.reach == .infinity { break }
            if depth.reach == .zero, let response = asked.propfindAtOnce(selection) { return .now(response) }
            return onDisk(asked) { try $0.propfind(selection, depth) }
        case .put:
            guard let content = DAVRequest.smallContent(of: request) else { break }
            if let response = DAVRequest.putAtOnce(content, request) { return .now(response) }
            return onDisk { try $0.put(content) }
        default: break
        }
        return later(entry.run)
    }

    private typealias Run = @Sendable (DAVRequest) async throws -> Response

    /// The methods and what runs for each.
    private static let table: [(method: Method, run: Run)] = [
        (.propfind, { try await $0.propfind() }),  // RFC 4918 §9.1
        (.put, { try await $0.put() }),  // RFC 9110 §9.3.4, RFC 4918 §9.7
        (.delete, { try await $0.delete() }),  // RFC 4918 §9.6
        (.mkcol, { try await $0.mkcol() }),  // RFC 4918 §9.3
        (.move, { try await $0.move() }),  // RFC 4918 §9.9
        (.copy, { try await $0.copy() }),  // RFC 4918 §9.8
        (.proppatch, { try await $0.proppatch() }),  // RFC 4918 §9.2
        (.lock, { try await $0.lock() }),  // RFC 4918 §9.10
        (.unlock, { try await $0.unlock() }),  // RFC 4918 §9.11
        (.options, { try await $0.options() }),  // RFC 4918 §10.1, RFC 9110 §9.3.7
        (.patch, { try await $0.patch() }),  // SabreDAV's partial updates
        (.report, { try await $0.report() }),  // RFC 3253 §3.6, RFC 6578
    ]

    /// Whether the request belongs to a handler that was added earlier.
    ///
    /// That is everything below the reserved address, and resumable uploads, which begin with PUT
    /// (draft-ietf-httpbis-resumable-upload).
    private static func isAnothers(_ request: Request) -> Bool {
        if reserved.contains(request.path) { return true }
        // The version field alone does not make an upload resumable: whole uploads have it too.
        return request.method == .put && request.fields.tellsCompleteness
    }

    private static let reserved = SharePath(unchecked: Array(StateFolder.name.utf8))

    private func later(_ run: @escaping Run) -> Answer {
        .later { [service] request in
            do {
                return try await run(DAVRequest(request, to: service))
            } catch let error as DAVError {
                return error.response(prefix: request.prefix)
            } catch let error as RootError {
                return try await request.io.run { try Self.response(to: error, of: request) }
            }
        }
    }

    private func onDisk(
        _ asked: DAVRequest? = nil, _ run: @escaping @Sendable (DAVRequest) throws -> Response
    ) -> Answer {
        .onDisk { [service] request in
            do {
                return try run(asked ?? DAVRequest(request, to: service))
            } catch let error as DAVError {
                return error.response(prefix: request.prefix)
            } catch let error as RootError {
                return try Self.response(to: error, of: request)
            }
        }
    }

    /// - Throws: a failure of the system itself, for the log.
    private static func response(to error: RootError, of request: Request) throws(RootError) -> Response {
        if case .system = error { throw error }
        return DAVError.response(to: error, of: request)
    }
}

/// The limits of the service.
public struct WebDAVOptions: Sendable {
    /// The most members of a tree that a PROPFIND of infinite depth lists, and does not refuse; 0 refuses all.
    public var maxInfiniteMembers = 10_000
    /// The most PROPFINDs and REPORTs answered at once; more are refused with 503.
    ///
    /// Each that waits for its client takes a quarter of a megabyte.
    public var maxPropfinds = UsableMemory.places(256, each: 1 << 18)
    /// The most bytes of a request's XML; 413 beyond it.
    public var maxXMLBytes = 1_048_576
    /// The most levels of a request's XML, at most 256; 400 beyond it.
    public var maxXMLDepth = 256

    /// The defaults.
    public init() {}
}
