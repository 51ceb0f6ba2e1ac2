import DirectoryRoot
import ServerCore

extension UploaderHandler {
    /// POST at any address: a form with files for the folder there, or with the names of members for an archive of it.
    func post(_ request: Request) -> Answer {
        .later { [self] request in
            guard let (format, isCompressed) = try archiveFormat(for: request) else { return try await form(request) }
            return try await archive(request, format: format, isCompressed: isCompressed)
        }
    }

    /// Stores a form's files while they arrive; each has its name as soon as its last byte has arrived or, with a
    /// `Content-Digest`, once the whole form has been verified.
    private func form(_ request: Request) async throws -> Response {
        let found = try await request.io.run { try request.share.existing(request.path) }
        guard let attributes = found else {
            throw HTTPError(.notFound, "There is no folder at this address. To write a file, use PUT.")
        }
        guard attributes.isDirectory else {
            let reads = "GET, HEAD, OPTIONS, PROPFIND"
            let writes = ", PUT, DELETE, PATCH, PROPPATCH, COPY, MOVE, LOCK, UNLOCK"
            throw HTTPError(
                .methodNotAllowed, "Forms are sent to folders. To write this file, use PUT.",
                fields: ["Allow": request.share.root.policy.isReadOnly ? reads : reads + writes])
        }
        var limits = MultipartParser.Limits()
        limits.parts = configuration.maxFormParts
        var parser = try MultipartParser(contentType: request.fields["content-type"] ?? "", limits: limits)
        var checksums = request.fields["content-digest"] == nil ? [] : try ChunkChecksum.all(of: request)
        let store = FormStore(of: request, waitsForAll: !checksums.isEmpty)
        do {
            try unsafe await request.body.forEachPiece { piece in
                for index in checksums.indices { unsafe checksums[index].update(piece) }
                try unsafe store.take(parser.feed(Array(piece)))
            }
            try parser.finish()
            guard checksums.allSatisfy({ $0.isMet() }) else {
                throw HTTPError(.badRequest, "This form is not what its digest says. Send it again.")
            }
            try await request.io.run { try store.storeAll() }
        } catch {
            throw failure(error, store)
        }
        guard !store.stored.isEmpty else {
            throw HTTPError(.badRequest, "There is no file in this form. Choose one and send it again.")
        }
        if wantsPage(request) {
            return Response(.seeOther, fields: ["Location": request.href(request.path, isDirectory: true)])
        }
        var response = Response.json(document(store.stored, request), status: .created)
        if store.stored.count == 1 {
            response.fields["Location"] = request.href(store.stored[0].path, isDirectory: false)
        }
        return response
    }

    private func document(_ stored: [FormStore.Stored], _ request: Request) -> [UInt8] {
        let member = JSONMember(base: request.folderAddress(.root))
        var writer = TextWriter()
        writer.raw(#"{"files":["#)
        for (index, file) in stored.enumerated() {
            writer.raw(index > 0 ? ",\n" : "\n")
            member.write(
                path: file.path.bytes, shown: [UInt8(ascii: "/")] + file.path.bytes, file.attributes, to: &writer)
        }
        writer.raw("\n]}\n")
        return writer.take()
    }

    /// The refusal, with a list of what was and was not stored; other errors unchanged.
    private func failure(_ error: any Error, _ store: FormStore) -> any Error {
        guard var refusal = HTTPError(of: error) else { return error }
        var writer = TextWriter()
        writer.raw(refusal.message.utf8)
        if let current = store.current {
            writer.raw("\nNot stored: ")
            writer.line(current)
        }
        if !store.stored.isEmpty {
            writer.raw("\nStored before:")
            for file in store.stored.prefix(1000) {
                writer.raw(" ")
                writer.line(Array(file.path.name))
            }
        }
        refusal.message = String(decoding: writer.take(), as: UTF8.self)
        return refusal
    }
}

extension TextWriter {
    /// Writes a name into plain text, percent-encoded if it has control characters or is not UTF-8.
    mutating func line(_ name: [UInt8]) {
        if name.contains(where: { $0 < 0x20 || $0 == 0x7F }) || !UTF8Scan.isValid(name) || Self.turnsText(name) {
            address(name)
        } else {
            raw(name)
        }
    }
}
