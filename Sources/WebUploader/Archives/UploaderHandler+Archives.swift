import DirectoryRoot
import ServerCore

extension UploaderHandler {
    /// The most that may be chosen of a folder.
    private static let maxChosen = 20_000
    private static let maxChosenBytes = 4 << 20

    /// The kind of archive that a query asks for, if it asks for one.
    func archiveFormat(for request: Request) throws(HTTPError) -> (format: any ArchiveFormat, isCompressed: Bool)? {
        switch request.queryValue("archive") {
        case nil: nil
        case "zip", "": (ZipFormat(), false)
        case "tar": (TarFormat(), false)
        case "tar.gz", "tgz": (TarFormat(), true)
        default: throw HTTPError(.badRequest, "There are archives as zip, tar and tar.gz.")
        }
    }

    /// A folder, or chosen members of it, as one download.
    ///
    /// An archive has a length, a strong tag and ranges, so that a download that broke off goes on where it stopped; a
    /// compressed one has none of these, and neither has one whose names came in a body: its address does not say what
    /// it is.
    func archive(_ request: Request, format: any ArchiveFormat, isCompressed: Bool) async throws -> Response {
        let chosen = try await chosen(request)
        guard let slot = archives.take() else { throw RootError.tooMany }
        let share = request.share
        let absolute = try share.base.appending(request.path)
        let (plan, layout) = try await request.io.look { [trees] in
            guard share.mayRead(request.path) || share.rights.leadsToReadable(below: absolute) else {
                throw RootError.notFound
            }
            let plan = try ArchivePlan(
                of: request.path, in: share, choosing: chosen, format: format, memory: trees)
            return (plan, try ArchiveLayout(of: plan, format: format))
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

    /// The archive as it is, or a span of it.
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
            // Several spans of an archive are no use to anybody: the whole answers them.
            case .spans(let spans) where spans.count == 1:
                span = spans[0]
                status = .partialContent
                fields["Content-Range"] = "bytes \(span.lowerBound)-\(span.upperBound - 1)/\(layout.length)"
            case .spans, .whole: break
            }
        }
        return sending(plan, layout, format, span, request, Response(status, fields: fields), slot)
    }

    /// An answer with a span of the archive for its body.
    private func sending(
        _ plan: ArchivePlan, _ layout: ArchiveLayout, _ format: any ArchiveFormat, _ span: Range<Int64>,
        _ request: Request, _ head: Response, _ slot: Slots.Token
    ) -> Response {
        let producer = ArchiveProducer(
            plan, in: request.share, format: format, layout: layout, range: span, cache: checksums)
        let io = request.io
        var response = head
        response.body = .stream(length: Int64(span.count)) { writer in
            // The next piece is read while this one is sent.
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

    /// A member's name as a query or a form has it.
    static func name(_ value: [UInt8]) throws(HTTPError) -> [UInt8] {
        var name = value
        if name.last == UInt8(ascii: "/") { name.removeLast() }
        guard SharePath.isName(name) else { throw HTTPError(.badRequest, "“name” must be a name in this folder.") }
        return name
    }

    /// What is chosen of the folder, by `name` or by `path`, which may lead deeper: in the query, and in the body of a
    /// POST, as an address has no room for hundreds.
    private func chosen(_ request: Request) async throws -> [SharePath] {
        var chosen = try Self.chosen((request.query ?? "").utf8)
        guard request.method == .post else { return chosen }
        let body: [UInt8]
        do {
            body = try await request.body.collect(upTo: Self.maxChosenBytes)
        } catch let error as HTTPError where error.status == .contentTooLarge {
            throw Self.tooManyChosen
        }
        // A form of `text/plain` ends its line.
        for line in body.split(maxSplits: Self.maxChosen, whereSeparator: { $0 == 0x0D || $0 == 0x0A }) {
            chosen += try Self.chosen(line)
            guard chosen.count <= Self.maxChosen else { throw Self.tooManyChosen }
        }
        return chosen
    }

    private static func chosen(_ text: some Collection<UInt8>) throws(HTTPError) -> [SharePath] {
        let fields = PercentCoding.formFields(text, limit: maxChosen + 1)
        guard fields.count <= maxChosen else { throw tooManyChosen }
        var chosen: [SharePath] = []
        for field in fields {
            if field.name.elementsEqual("name".utf8) {
                try chosen.append(SharePath(unchecked: name(field.value)))
            } else if field.name.elementsEqual("path".utf8) {
                guard let path = try? SharePath(bytes: field.value), !path.isRoot else {
                    throw HTTPError(.badRequest, "“path” must be a path below this folder.")
                }
                chosen.append(path)
            }
        }
        return chosen
    }

    private static var tooManyChosen: HTTPError {
        HTTPError(.contentTooLarge, "Choose at most \(maxChosen) files and folders, or all of the folder.")
    }

    /// The folder's name, or the one chosen member's, or the share's title.
    private func filename(_ request: Request, choosing chosen: [SharePath]) -> [UInt8] {
        if chosen.count == 1 { return Array(chosen[0].name) }
        if !request.path.isRoot { return Array(request.path.name) }
        return request.share.base.isRoot ? Array("files".utf8) : Array(request.share.base.name)
    }
}
