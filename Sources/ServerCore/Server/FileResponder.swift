public import DirectoryRoot

/// GET and HEAD of an open file for all handlers: validators, conditions, ranges, content coding, disposition.
///
/// RFC 9110 §13.2.2 (conditions), §14 (ranges), §8.4 (coding).
public enum FileResponder {
    /// The largest file that is compressed for sending, in bytes.
    package static let compressionLimit: Int64 = 16 * 1_048_576
    /// The smallest file for which compression is worthwhile, in bytes.
    package static let compressionFloor: Int64 = 512

    /// The response for `entry`, a file: 200, 206, 304, 412 or 416.
    ///
    /// Pure except for reading `request`; waits for nothing. Handlers that also support `Want-Repr-Digest` use
    /// ``answer(with:to:)``.
    /// - Parameters:
    ///   - entry: the open file.
    ///   - request: a GET or HEAD, or another request that is answered with the content.
    ///   - given: the file's name, if it is not the last component of the request's path; determines the media type.
    /// - Returns: the response; its body is the file's, also for HEAD, and mostly for 304, with which it is not sent.
    public static func respond(with entry: Entry, to request: Request, named given: [UInt8]? = nil) -> Response {
        let name = given.map { $0[...] } ?? filename(of: request)
        let known = request.storage.head.known
        let hasQuery = request.storage.query != nil
        let isFramed = hasQuery && request.queryValue("view") != nil
        let head = FileHead(of: entry.attributes, name: name, isFramed: isFramed)
        // The address of a share that is one file does not end in the file's name.
        let saysName = given == nil && request.path.isRoot
        guard !known.isDisjoint(with: conditional) || hasQuery || saysName else {
            return Response(.ok, fields: head.fields(), body: .file(entry, 0..<max(0, entry.attributes.size)))
        }
        return Selection(entry: entry, head: head, request: request, name: name, saysName: saysName).response()
    }

    /// Like ``respond(with:to:named:)``, with a digest of the content if the client requests one.
    ///
    /// With `Want-Repr-Digest` the file is read twice, so the response comes from a task. RFC 9530 §4.
    /// - Parameters:
    ///   - entry: the open file.
    ///   - request: a GET or HEAD.
    /// - Returns: an immediate response if no digest is wanted.
    public static func answer(with entry: Entry, to request: Request) -> Answer {
        guard let algorithm = request.fields["want-repr-digest"].flatMap(ReprDigest.wanted) else {
            return .now(respond(with: entry, to: request))
        }
        return .later { request in
            var response = respond(with: entry, to: request)
            // A digest covers the representation that is sent, so that must be the file itself.
            guard response.fields["Content-Encoding"] == nil, [200, 206].contains(response.status.code) else {
                return response
            }
            request.endWithClient()
            do {
                response.fields["Repr-Digest"] = try await ReprDigest(of: entry, algorithm, io: request.io).text
            } catch let error as HTTPError where error.status == .serviceUnavailable {
                // It was a wish; the content can be had without it. RFC 9530 §4
            }
            return response
        }
    }

    /// The media type by a name's extension, with a charset for text; `application/octet-stream` when unknown.
    public static func mediaType(of name: some Collection<UInt8>) -> String { MediaType(filename: name).name }

    /// The fields that may make the response anything other than the whole file as it is.
    private static let conditional = KnownFields(
        .range, .ifMatch, .ifNoneMatch, .ifModifiedSince, .ifUnmodifiedSince, .acceptEncoding)

    /// The last component of the requested path; for a share that is one file, that file's name.
    package static func filename(of request: Request) -> ArraySlice<UInt8> {
        let path = request.path.isRoot ? request.share.base.bytes : request.path.bytes
        return path.lastIndex(of: UInt8(ascii: "/")).map { path[($0 + 1)...] } ?? path[...]
    }
}

/// Selects the variant of a file for one request.
private struct Selection {
    let entry: Entry
    let head: FileHead
    let request: Request
    let name: ArraySlice<UInt8>
    let saysName: Bool

    private var size: Int64 { max(0, entry.attributes.size) }
    private var mayHaveRange: Bool { request.method == .get && request.storage.head.known.contains(.range) }

    func response() -> Response {
        let fields = request.fields
        let coding = coding()
        switch Conditions(fields).evaluate(entry.attributes, isRead: true, takesGzip: coding.isGzip) {
        case .failed:
            return refusal(HTTPError(.preconditionFailed, "The file is not, or is no longer, as you asked for it."))
        case .notModified: return notModified(coding)
        case .proceed: break
        }
        if coding == .none {
            return refusal(HTTPError(.notAcceptable, "This file can only be had as it is: allow “identity”."))
        }
        // Ranges apply to the file as it is: a client that does not accept that gets the whole.
        if coding != .gzipOnly, mayHaveRange, let range = fields["range"],
            Conditions.allowsRange(ifRange: fields["if-range"], of: entry.attributes)
        {
            switch RangeSelection(field: range, size: size, limit: request.io.mostRanges) {
            case .whole: break
            case .unsatisfiable: return unsatisfiable()
            case .spans(let spans): if let answer = partial(spans) { return answer }
            }
        }
        return whole(coding)
    }

    private func coding() -> Negotiation.Coding {
        guard request.storage.head.known.contains(.acceptEncoding) else { return .identity }
        let wanted = Negotiation.coding(acceptEncoding: request.fields["accept-encoding"])
        switch wanted {
        case .gzip:
            let isWorthwhile = head.type.isCompressible && size >= FileResponder.compressionFloor
            let wantsDigest = request.storage.head.contains("want-repr-digest")
            return isWorthwhile && size <= FileResponder.compressionLimit && !wantsDigest ? .gzip : .identity
        case .gzipOnly: return size <= FileResponder.compressionLimit ? .gzipOnly : .none
        case .identity, .none: return wanted
        }
    }

    private func whole(_ coding: Negotiation.Coding) -> Response {
        var fields = head.fields(tag: coding.isGzip ? entry.attributes.entityTag.gzipText : nil)
        disposition(&fields)
        guard coding.isGzip else { return Response(.ok, fields: fields, body: .file(entry, 0..<size)) }
        fields.merge("Vary", "Accept-Encoding")
        fields.add("Content-Encoding", "gzip")
        fields["Accept-Ranges"] = nil
        let (entry, size, io) = (entry, size, request.io)
        return Response(
            .ok, fields: fields,
            body: .stream(length: nil) { writer in
                let file = try CompressedFile(entry, size: size)
                repeat {
                    let bytes = try await io.run { try file.next() }
                    if !bytes.isEmpty { try await writer.write(bytes) }
                } while !file.isOver
            })
    }

    private func notModified(_ coding: Negotiation.Coding) -> Response {
        var fields = head.fields(tag: tagOfClient(coding), saysType: false)
        if coding.isGzip { fields.merge("Vary", "Accept-Encoding") }
        // For the cache of open files, which takes the type from the path.
        guard name == FileResponder.filename(of: request) else { return Response(.notModified, fields: fields) }
        return Response(.notModified, fields: fields, body: .file(entry, 0..<size))
    }

    /// The tag of the variant that the client has and accepts; if it has both, of the one that it would get now.
    private func tagOfClient(_ coding: Negotiation.Coding) -> String {
        let plain = entry.attributes.entityTag.text
        guard coding.isGzip else { return plain }
        let gzip = entry.attributes.entityTag.gzipText
        guard let field = request.fields["if-none-match"] else { return gzip }
        return EntityTagList(field: field).matchesWeakly(gzip) ? gzip : plain
    }

    private func refusal(_ error: HTTPError) -> Response {
        var response = Response(error)
        response.fields["ETag"] = entry.attributes.entityTag.text
        return response
    }

    private func unsatisfiable() -> Response {
        Response(
            HTTPError(
                .rangeNotSatisfiable, "The file has \(size) bytes; the range begins after its end.",
                fields: [
                    "Content-Range": "bytes */\(size)", "Accept-Ranges": "bytes",
                    "ETag": entry.attributes.entityTag.text,
                ]))
    }

    /// Only the requested spans; nil when the parts' headers would make the whole longer than a length can express.
    private func partial(_ spans: [Range<Int64>]) -> Response? {
        var fields = head.fields()
        disposition(&fields)
        guard spans.count > 1 else {
            let span = spans.first ?? 0..<size
            fields.add("Content-Range", contentRange(span))
            return Response(.partialContent, fields: fields, body: .file(entry, span))
        }
        // Random, so that no content can contain it on purpose.
        let boundary =
            String(UInt64.random(in: 0 ... .max), radix: 36) + String(UInt64.random(in: 0 ... .max), radix: 36)
        let heads = spans.enumerated().map { index, span in
            Array(
                """
                \(index == 0 ? "" : "\r\n")--\(boundary)\r
                Content-Type: \(head.type.name)\r
                Content-Range: \(contentRange(span))\r
                \r

                """.utf8)
        }
        let end = Array("\r\n--\(boundary)--\r\n".utf8)
        var length = Int64(end.count)
        for more in heads.map({ Int64($0.count) }) + spans.map({ Int64($0.count) }) {
            let (sum, overflow) = length.addingReportingOverflow(more)
            guard !overflow else { return nil }
            length = sum
        }
        fields["Content-Type"] = "multipart/byteranges; boundary=\(boundary)"
        let entry = entry
        return Response(
            .partialContent, fields: fields,
            body: .stream(length: length) { writer in
                for (head, span) in zip(heads, spans) {
                    try await writer.write(head)
                    try await writer.write(entry, span)
                }
                try await writer.write(end)
            })
    }

    private func contentRange(_ span: Range<Int64>) -> String {
        "bytes \(span.lowerBound)-\(span.upperBound - 1)/\(size)"
    }

    private func disposition(_ fields: inout ResponseFields) {
        if request.storage.query != nil, request.queryValue("download") != nil {
            fields["Content-Disposition"] = ContentDisposition.attachment(filename: name)
        } else if saysName {
            fields["Content-Disposition"] = ContentDisposition.inline(filename: name)
        }
    }
}

extension EntityTag {
    /// The tag of the gzip variant of the same content: a different one, since strong validators must be unique.
    package var gzipText: String { String(decoding: text.utf8.dropLast(), as: UTF8.self) + "-gzip\"" }
}

extension Entry {
    /// Reads bytes of the file; waits for the disk.
    /// - Parameters:
    ///   - offset: where to begin.
    ///   - limit: the most bytes.
    /// - Returns: fewer than `limit` only at the end of the file; empty there.
    /// - Throws: ``RootError/system(errno:call:)``.
    package func bytes(at offset: Int64, upTo limit: Int) throws(RootError) -> [UInt8] {
        var failure: RootError?
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
            do throws(RootError) {
                while count < limit {
                    let rest = unsafe UnsafeMutableRawBufferPointer(
                        rebasing: UnsafeMutableRawBufferPointer(buffer)[count...])
                    let read = try unsafe self.read(into: rest, at: offset + Int64(count))
                    guard read > 0 else { break }
                    count += read
                }
            } catch {
                failure = error
            }
        }
        if let failure { throw failure }
        return bytes
    }
}
