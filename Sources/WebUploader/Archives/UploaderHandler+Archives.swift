import DirectoryRoot
import ServerCore

extension UploaderHandler {
    /// The kind of archive that a query requests, if any.
    func archiveFormat(for request: Request) throws(HTTPError) -> (format: any ArchiveFormat, isCompressed: Bool)? {
        switch request.queryValue("archive") {
        case nil: nil
        case "zip", "": (ZipFormat(), false)
        case "tar": (TarFormat(), false)
        case "tar.gz", "tgz": (TarFormat(), true)
        default: throw HTTPError(.badRequest, "There are archives as zip, tar and tar.gz.")
        }
    }

    /// A folder, or selected members of it, as one download.
    ///
    /// An archive has a length, a strong tag and ranges, so that an interrupted download can continue; a compressed one
    /// has none of these, and neither has one whose members were selected in a body, since its address does not
    /// identify it.
    func archive(_ request: Request, format: any ArchiveFormat, isCompressed: Bool) async throws -> Response {
        let list = request.method == .post ? try await ArchiveChoice.list(in: request) : []
        guard let slot = archives.take() else { throw RootError.tooMany }
        let share = request.share
        let absolute = try share.base.appending(request.path)
        request.endWithClient()
        let (plan, layout, chosen) = try await request.io.look { [trees] in
            let chosen = try ArchiveChoice(query: request.query, list: list).paths
            guard share.mayRead(request.path) || share.rights.leadsToReadable(below: absolute) else {
                throw RootError.notFound
            }
            let plan = try ArchivePlan(
                of: request.path, in: share, choosing: chosen, format: format, memory: trees.portion(watch: slot.watch))
            return (plan, try ArchiveLayout(of: plan, format: format), chosen)
        }
        let filename = self.filename(request, choosing: chosen) + Array(format.fileExtension.utf8)
        var fields: ResponseFields = [
            "Content-Type": format.mediaType, "Cache-Control": "no-cache",
            "Content-Disposition": ContentDisposition.attachment(filename: filename),
        ]
        if isCompressed {
            fields["Content-Type"] = "application/gzip"
            fields["Content-Disposition"] = ContentDisposition.attachment(filename: filename + Array(".gz".utf8))
            return try compressed(plan, layout, format, request, fields, slot)
        }
        return try stored(plan, layout, format, request, fields, slot)
    }

    /// The uncompressed archive, or a span of it.
    private func stored(
        _ plan: ArchivePlan, _ layout: ArchiveLayout, _ format: any ArchiveFormat, _ request: Request,
        _ fields: ResponseFields, _ slot: Slots.Token
    ) throws -> Response {
        guard request.method != .post else {
            return sending(plan, layout, format, 0..<layout.length, request, Response(.ok, fields: fields), slot)
        }
        var fields = fields
        fields["ETag"] = plan.entityTag
        fields["Accept-Ranges"] = "bytes"
        if let list = request.fields["if-match"], !EntityTagList(field: list).matchesStrongly(plan.entityTag) {
            throw HTTPError(RootError.preconditionFailed)
        }
        if let list = request.fields["if-none-match"], EntityTagList(field: list).matchesWeakly(plan.entityTag) {
            return Response(.notModified, fields: ["ETag": plan.entityTag, "Cache-Control": "no-cache"])
        }
        var span = 0..<layout.length
        var status = Status.ok
        if let field = request.fields["range"], request.method == .get, allowsRange(request, plan) {
            switch RangeSelection(field: field, size: layout.length) {
            case .unsatisfiable:
                fields = ["Content-Range": "bytes */\(layout.length)", "ETag": plan.entityTag]
                throw HTTPError(.rangeNotSatisfiable, "The archive is shorter than that.", fields: fields)
            // Several spans of an archive are of no use: the whole is sent instead.
            case .spans(let spans) where spans.count == 1:
                span = spans[0]
                status = .partialContent
                fields["Content-Range"] = "bytes \(span.lowerBound)-\(span.upperBound - 1)/\(layout.length)"
            case .spans, .whole: break
            }
        }
        return sending(plan, layout, format, span, request, Response(status, fields: fields), slot)
    }

    /// A response with a span of the archive as its body.
    private func sending(
        _ plan: ArchivePlan, _ layout: ArchiveLayout, _ format: any ArchiveFormat, _ span: Range<Int64>,
        _ request: Request, _ head: Response, _ slot: Slots.Token
    ) -> Response {
        let producer = ArchiveProducer(
            plan, in: request.share, format: format, layout: layout, range: span, cache: checksums)
        let io = request.io
        var response = head
        response.body = .stream(length: Int64(span.count)) { writer in
            slot.follow(writer)
            // The next piece is read while this one is being sent.
            var piece = try await io.run { try producer.next() }
            while let current = piece {
                async let following = io.run { try producer.next() }
                switch current {
                case .bytes(let bytes): try await writer.write(bytes)
                case .file(let entry, let range): try await writer.write(entry, range)
                }
                piece = try await following
            }
            withExtendedLifetime(slot) {}
        }
        return response
    }

    private func compressed(
        _ plan: ArchivePlan, _ layout: ArchiveLayout, _ format: any ArchiveFormat, _ request: Request,
        _ fields: ResponseFields, _ slot: Slots.Token
    ) throws -> Response {
        let source = ArchiveBytes(
            ArchiveProducer(
                plan, in: request.share, format: format, layout: layout, range: 0..<layout.length, cache: checksums,
                readsDirectly: false))
        let producer = try GzipProducer(source, flushes: false, level: 1)
        let io = request.io
        return Response(
            .ok, fields: fields,
            body: .stream(length: nil) { writer in
                slot.follow(writer)
                var chunk = try await io.run { try producer.next() }
                while let current = chunk {
                    async let following = io.run { try producer.next() }
                    try await writer.write(current)
                    chunk = try await following
                }
                withExtendedLifetime(slot) {}
            })
    }

    private func allowsRange(_ request: Request, _ plan: ArchivePlan) -> Bool {
        guard let field = request.fields["if-range"] else { return true }
        let list = EntityTagList(field: field)
        return list != .any && list.matchesStrongly(plan.entityTag)
    }

    /// The name of the folder, or of the single selected member, or the share's title.
    private func filename(_ request: Request, choosing chosen: [SharePath]) -> [UInt8] {
        if chosen.count == 1 { return Array(chosen[0].name) }
        if !request.path.isRoot { return Array(request.path.name) }
        return request.share.base.isRoot ? Array("files".utf8) : Array(request.share.base.name)
    }
}
