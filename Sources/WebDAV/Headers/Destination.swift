internal import DirectoryRoot
internal import ServerCore

/// Where COPY and MOVE go to.
///
/// RFC 4918 §10.3.
struct Destination: Sendable {
    let path: SharePath

    /// Resolves the field by the parser of the request's own target.
    /// - Throws: 400 when it is missing, malformed, with a query or outside the share; 502 when it names another
    ///   server.
    init(of request: Request) throws(HTTPError) {
        let lines = request.fields.bytes("destination")
        guard let reference = lines.first, lines.count == 1, !reference.isEmpty else {
            throw HTTPError(.badRequest, "This method needs one Destination field with an address on this server.")
        }
        // Nearly always part of a name that was not encoded: without it, another file would come or go.
        guard !reference.contains(UInt8(ascii: "?")) else {
            throw HTTPError(.badRequest, "The Destination holds a question mark: in a name, write it as %3F.")
        }
        path = try request.resolve(reference: reference).path
    }
}
