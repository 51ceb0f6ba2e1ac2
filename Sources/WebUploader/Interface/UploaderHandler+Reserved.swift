import DirectoryRoot
import ServerCore

extension UploaderHandler {
    /// Everything below `/.shareserve/`: nothing there is ever a file of the share.
    func answer(_ request: Request, at place: ReservedPlace) -> Answer {
        switch place.components.first {
        case "assets": allow([.get, .head], request) { .now(asset(place, for: request)) }
        case "info": allow([.get, .head], request) { .now(infoResponse(request)) }
        case "qr": allow([.get, .head], request) { .now(codeResponse(request)) }
        // Answered by the server itself.
        case "health", "metrics": .pass
        case "search": allow([.get, .head], request) { .later { [self] in try await search($0) } }
        case "uploads": uploads(request, at: place)
        case "events": allow([.get, .head], request) { .later { [self] in try await events($0) } }
        case "trash": trash(request, at: place)
        case "links": links(request, at: place)
        default: .now(Response(HTTPError(.notFound, "There is nothing at this address.")))
        }
    }

    /// Answers OPTIONS, and refuses methods that a place does not support.
    func allow(_ methods: [Method], _ request: Request, _ answer: () -> Answer) -> Answer {
        if methods.contains(request.method) { return answer() }
        guard request.method.isKnown else { return .pass }
        let list = (methods + [.options]).map(\.rawValue).joined(separator: ", ")
        if request.method == .options { return .now(Response(.noContent, fields: ["Allow": list])) }
        return .now(
            Response(HTTPError(.methodNotAllowed, "This address does not know that method.", fields: ["Allow": list])))
    }

    private func asset(_ place: ReservedPlace, for request: Request) -> Response {
        guard place.components.count >= 3, place.components[1] == assets.hash,
            let asset = assets[place.components.dropFirst(2).joined(separator: "/")]
        else { return Response(HTTPError(.notFound, "The page has changed. Reload it.")) }
        var fields: ResponseFields = [
            "Content-Type": asset.mediaType, "Cache-Control": "public, max-age=31536000, immutable",
            "Vary": "Accept-Encoding", "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
        ]
        if let compressed = asset.compressed {
            switch Negotiation.coding(acceptEncoding: request.fields["accept-encoding"]) {
            case .gzip, .gzipOnly:
                fields["Content-Encoding"] = "gzip"
                return Response(.ok, fields: fields, body: .bytes(compressed))
            case .identity, .none: break
            }
        }
        return Response(.ok, fields: fields, body: .bytes(asset.bytes))
    }

    /// A text, such as an address, as a QR code image for phones.
    private func codeResponse(_ request: Request) -> Response {
        guard let text = request.queryValue("text"), let code = QRCode(text) else {
            return Response(HTTPError(.badRequest, "A code needs a `text` of at most 331 bytes."))
        }
        let fields: ResponseFields = ["Content-Type": "image/svg+xml", "Cache-Control": "public, max-age=86400"]
        return Response(.ok, fields: fields, body: .bytes(code.svg))
    }

    private func infoResponse(_ request: Request) -> Response {
        var writer = TextWriter()
        info.write(for: request.share, to: &writer)
        writer.raw("\n")
        return .json(writer.take())
    }
}

extension Response {
    /// A response with JSON, never stored by a cache.
    static func json(_ bytes: [UInt8], status: Status = .ok) -> Response {
        Response(
            status, fields: ["Content-Type": "application/json", "Cache-Control": "no-store"], body: .bytes(bytes))
    }
}
