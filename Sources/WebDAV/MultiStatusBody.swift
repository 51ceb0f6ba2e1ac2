internal import ServerCore

/// A multistatus that is made while it is sent.
///
/// Used by one task at a time; making a piece waits for the disk.
protocol MultiStatusPieces: AnyObject, Sendable {
    /// The beginning: ready before the first byte is asked for.
    var first: [UInt8] { get }
    /// Whether ``first`` is all, or ``next(isCrowded:)`` has given the last piece.
    var isAtEnd: Bool { get }
    /// Makes the next piece.
    /// - Parameter isCrowded: many others are listing; the piece should be small, since a slow client holds it for
    ///   long.
    /// - Throws: what the disk says.
    /// - Returns: nil when all has been said.
    func next(isCrowded: Bool) throws -> [UInt8]?
}

extension Response {
    /// A short multistatus, compressed where the client takes it and it is worth it.
    static func multiStatus(_ bytes: [UInt8], to request: Request, fields: ResponseFields) -> Response {
        guard bytes.count > 1400, let deflater = deflater(for: request) else {
            return Response(.multiStatus, fields: fields, body: .bytes(bytes))
        }
        return Response(.multiStatus, fields: compressed(fields), body: .bytes(deflater.finish(bytes)))
    }

    /// A multistatus of any length, sent as it is made: the first members are on their way while the last are being
    /// read.
    ///
    /// Its place among those that list is kept until the last byte.
    static func multiStatus(
        _ listing: any MultiStatusPieces, to request: Request, fields: ResponseFields, until slot: Slots.Token
    ) -> Response {
        let deflater = deflater(for: request)
        return Response(
            .multiStatus, fields: deflater == nil ? fields : compressed(fields),
            body: .stream(length: nil) { [io = request.io] writer in
                defer { withExtendedLifetime(slot) {} }
                slot.watch.follow(writer)
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

    /// Nil when the client takes no gzip, or there is no memory for it.
    ///
    /// Listings repeat themselves: the fast level does.
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
