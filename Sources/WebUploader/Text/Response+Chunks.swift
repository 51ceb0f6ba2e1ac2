import ServerCore

extension Response {
    /// A body of unknown length, produced on the I/O pool and compressed if the client accepts that.
    /// - Parameters:
    ///   - producer: produces the bytes.
    ///   - request: determines what the client accepts, and provides the pool.
    ///   - fields: the fields of the response.
    ///   - slot: a place among concurrent work of this kind, kept until the last byte is produced.
    /// - Throws: `GzipError` when there is no memory.
    /// - Returns: the response.
    static func chunks(
        _ producer: any ChunkProducer, to request: Request, fields: ResponseFields, until slot: Slots.Token? = nil
    ) throws -> Response {
        var fields = fields
        var producer = producer
        fields.merge("Vary", "Accept-Encoding")
        switch Negotiation.coding(acceptEncoding: request.fields["accept-encoding"]) {
        case .gzip, .gzipOnly:
            fields["Content-Encoding"] = "gzip"
            producer = try GzipProducer(producer)
        case .identity, .none: break
        }
        let io = request.io
        return Response(
            .ok, fields: fields,
            body: .stream(length: nil) { [producer] writer in
                slot?.follow(writer)
                while let chunk = try await io.run({ try producer.next() }) { try await writer.write(chunk) }
                withExtendedLifetime(slot) {}
            })
    }

    /// A body in memory, compressed if that is worthwhile and the client accepts it.
    /// - Parameters:
    ///   - bytes: the body.
    ///   - request: determines what the client accepts.
    ///   - status: the status.
    ///   - fields: the fields of the response.
    ///   - level: of the compression, from 1 (fast) to 9 (small).
    /// - Returns: the response.
    static func whole(
        _ bytes: [UInt8], to request: Request, status: Status = .ok, fields: ResponseFields, level: Int32 = 6
    ) -> Response {
        var response = Response(status, fields: fields, body: .bytes(bytes))
        response.fields.merge("Vary", "Accept-Encoding")
        switch Negotiation.coding(acceptEncoding: request.fields["accept-encoding"]) {
        case .gzip where bytes.count <= 860: break
        case .gzip, .gzipOnly:
            guard let deflater = try? Deflater(level: level) else { break }
            response.fields["Content-Encoding"] = "gzip"
            response.body = .bytes(deflater.finish(bytes))
        case .identity, .none: break
        }
        return response
    }
}
