internal import DirectoryRoot
internal import ServerCore

/// The target of COPY and MOVE.
///
/// RFC 4918 §10.3.
struct Destination: Sendable {
    let path: SharePath
    /// Whether it is spelled as a folder's address.
    let hasTrailingSlash: Bool

    /// Resolves the field with the parser of the request target.
    /// - Throws: 400 when it is missing, malformed, has a query or lies outside the share; 502 when it names another
    ///   server.
    init(of request: Request) throws(HTTPError) {
        let lines = request.fields.bytes("destination")
        guard let reference = lines.first, lines.count == 1, !reference.isEmpty else {
            throw HTTPError(.badRequest, "This method needs one Destination field with an address on this server.")
        }
        // Nearly always part of a name that was not encoded: to ignore it would create or replace another file.
        guard !reference.contains(UInt8(ascii: "?")) else {
            throw HTTPError(.badRequest, "The Destination holds a question mark: in a name, write it as %3F.")
        }
        (path, hasTrailingSlash) = try request.resolve(reference: reference)
    }
}
