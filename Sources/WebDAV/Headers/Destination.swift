internal import DirectoryRoot
internal import ServerCore

/// Where COPY and MOVE go to.
///
/// RFC 4918 §10.3.
struct Destination: Sendable {
    let path: SharePath

    /// Resolves the field by the parser of the request's own target.
    /// - Throws: 400 when it is missing, malformed or outside the share; 502 when it names another server.
    init(of request: Request) throws(HTTPError) {
        let lines = request.fields.bytes("destination")
        guard let reference = lines.first, lines.count == 1, !reference.isEmpty else {
            throw HTTPError(.badRequest, "This method needs one Destination field with an address on this server.")
        }
        path = try request.resolve(reference: reference).path
    }
}
