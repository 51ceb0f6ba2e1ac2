internal import DirectoryRoot
internal import ServerCore

extension Exchange {
    /// GET and HEAD that carry an `If` field: a file, when it holds.
    ///
    /// RFC 4918 §10.4.
    func read() async throws -> Response {
        let entry = try await onDisk { share in
            try checkIf()
            return try share.open(path)
        }
        guard !entry.attributes.isDirectory else { return .text(.ok, "") }
        return FileResponder.respond(with: entry, to: request)
    }
}
