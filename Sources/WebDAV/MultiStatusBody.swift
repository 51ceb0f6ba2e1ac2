internal import ServerCore

/// A multistatus that is produced while it is sent.
///
/// Used by one task at a time; producing a piece waits for the disk.
protocol MultiStatusPieces: AnyObject, Sendable {
    /// The beginning: ready before the first byte is requested.
    var first: [UInt8] { get }
    /// Whether ``first`` is everything, or ``next(isCrowded:)`` has returned the last piece.
    var isAtEnd: Bool { get }
    /// Produces the next piece.
    /// - Parameter isCrowded: whether many others are listing; the piece should then be small, since a slow client
    ///   holds it for long.
    /// - Throws: what the disk reports.
    /// - Returns: nil after the last piece.
    func next(isCrowded: Bool) throws -> [UInt8]?
}

extension Response {
    /// A short multistatus, compressed if the client accepts that and it is worthwhile.
    static func multiStatus(_ bytes: [UInt8], to request: Request, fields: ResponseFields) -> Response {
        guard bytes.count > 1400, let deflater = deflater(for: request) else {
            return Response(.multiStatus, fields: fields, body: .bytes(bytes))
        }
        return Response(.multiStatus, fields: compressed(fields), body: .bytes(deflater.finish(bytes)))
    }

    /// A multistatus of any length, sent as it is produced: the first members are sent while the last are still being
    /// read.
    ///
    /// It keeps its place among the listings until the last byte is sent.
    static func multiStatus(
        _ listing: any MultiStatusPieces, to request: Request, fields: ResponseFields, until slot: Slots.Token
    ) -> Response {
        let deflater = deflater(for: request)
        return Response(
            .multiStatus, fields: deflater == nil ? fields : compressed(fields),
            body: .stream(length: nil) { [io = request.io] writer in
                defer { withExtendedLifetime(slot) {} }
                slot.follow(writer)
                guard let deflater else {
                    try await writer.write(listing.first)
                    while let piece = try await io.run({ try listing.next(isCrowded: slot.isCrowded) }) {
                        try await writer.write(piece)
                    }
                    return
                }
                try await writer.write(deflater.flush(listing.first))
                while let piece = try await io.run({
                    try listing.next(isCrowded: slot.isCrowded).map { deflater.flush($0) }
                }) {
                    try await writer.write(piece)
                }
                try await writer.write(deflater.finish())
            })
    }

    /// Nil if the client does not accept gzip, or there is no memory for it.
    ///
    /// The fast level suffices: listings are repetitive.
    private static func deflater(for request: Request) -> Deflater? {
        guard let accepted = request.fields["accept-encoding"] else { return nil }
        switch Negotiation.coding(acceptEncoding: accepted) {
        case .gzip, .gzipOnly: return try? Deflater(level: 1)
        case .identity, .none: return nil
        }
    }

    private static func compressed(_ fields: ResponseFields) -> ResponseFields {
        var fields = fields
        fields.add("Content-Encoding", "gzip")
        return fields
    }
}
