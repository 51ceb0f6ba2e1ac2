import DirectoryRoot
import Logging

extension Engine {
    /// Asks the handlers, newest first, and tells `settle`, before the response is sent, whether it is a download.
    func route(_ request: Request, settling settle: (@Sendable (Bool) -> Void)?) -> Answer {
        let answer = route(request)
        guard let settle else { return answer }
        return .later { request in
            let response: Response
            do {
                response = try await answer.response(to: request)
            } catch {
                settle(false)
                throw error
            }
            settle(Self.isDownload(response))
            return response
        }
    }

    /// Whether a response has content, and more than one or two bytes from the beginning, for which a player asks first.
    private static func isDownload(_ response: Response) -> Bool {
        guard response.status == .partialContent, let length = response.body.length, length <= 2 else {
            return response.status == .ok || response.status == .partialContent
        }
        return response.fields["Content-Range"]?.hasPrefix("bytes 0-") != true
    }

    /// The response, or 500 for one that HTTP cannot express: a client would take it for something else.
    func sound(_ response: Response) -> Response {
        if response.isSound { return response }
        logger.error(
            "a handler's response can't be sent",
            metadata: ["status": "\(response.status.code)", "length": "\(response.body.length ?? 0)"])
        return .text(.internalServerError, "The server failed. Ask its administrator.")
    }

    /// The pool for what is at `path` in a share.
    func io(for path: SharePath, in share: Share) -> IOPool { share.farDevice(of: path).map { far[$0] } ?? io }

    /// An admitted request, with the pool for the disk that it is about.
    /// - Parameters:
    ///   - view: what the access control saw.
    ///   - share: the share that it granted.
    ///   - prefix: the prefix of every address of that share.
    ///   - path: the path in the share.
    ///   - body: the body, still to be received.
    /// - Returns: the request.
    func request(
        _ view: RequestHeadView, share: Share, prefix: String, path: SharePath, body: RequestBody
    ) -> Request {
        var share = share
        share.origin = view.arrival.origin
        let request = Request(
            storage: RequestStorage(view, share: share, prefix: prefix, path: path, body: body, io: io))
        if root.hasFarMounts { assignPool(to: request) }
        return request
    }

    /// Assigns the pool of the far disk that any of a request's fields refers to, if one does.
    private func assignPool(to request: Request) {
        func device(of reference: ArraySlice<UInt8>) -> UInt64? {
            (try? request.resolve(reference: reference).path).flatMap { request.share.farDevice(of: $0) }
        }
        var found = request.share.farDevice(of: request.path)
        if found == nil, request.method == .copy || request.method == .move {
            found = request.fields.bytes("destination").first.flatMap { device(of: $0) }
        }
        if found == nil, let field = request.fields["if"], let header = try? IfHeader(header: field) {
            found = header.lists.lazy.compactMap { $0.resource.flatMap { device(of: Array($0.utf8)[...]) } }.first
        }
        if let found { request.storage.io = far[found] }
    }

    /// The threads that may wait for a file's disk.
    func threads(for entry: Entry) -> PoolThreads {
        guard root.isBehindMount(entry), let threads = far[entry.attributes.device].threads else { return pool }
        return threads
    }

    /// Asks the handlers; for a far disk, once it responds.
    private func route(_ request: Request) -> Answer {
        guard request.io.isFar else { return find(request) }
        do {
            try request.io.requireAnswering()
        } catch {
            return .now(Response(error))
        }
        return find(request)
    }

    /// Asks the handlers, with the listed path if its names are in another Unicode normalization form than the
    /// client's.
    private func find(_ request: Request) -> Answer {
        guard request.mayRespell(request.path) else { return handle(request) }
        return .later { request in
            let listed = try await request.listedEquivalent(of: request.path)
            let request = listed.map { request.listed(at: $0) } ?? request
            return try await self.handle(request).response(to: request)
        }
    }

    /// Asks the handlers, newest first.
    private func handle(_ request: Request) -> Answer {
        for handler in handlers {
            let answer = handler.answer(request)
            switch answer {
            case .pass: continue
            case .now(let response): return response.isSound ? answer : .now(sound(response))
            // The exchange looks at what these come to.
            case .later, .onDisk: return answer
            }
        }
        let method = request.method
        guard methods.contains(method) else {
            return .now(.text(.notImplemented, "This server does not know the method \(method.rawValue)."))
        }
        if method == .options { return .now(Response(.ok, fields: ["Allow": allow])) }
        guard method == .get || method == .head else {
            var response = Response.text(.methodNotAllowed, "\(method.rawValue) does not work at this address.")
            response.fields["Allow"] = methods.map(\.rawValue).filter { $0 != method.rawValue }.sorted()
                .joined(separator: ", ")
            return .now(response)
        }
        return .now(.text(.notFound, "There is nothing at this address."))
    }
}
