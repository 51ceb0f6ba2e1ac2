import DirectoryRoot
import ServerCore

extension UploaderHandler {
    /// `?in=/a/&q=text`: names below a folder, sent as they are found.
    func search(_ request: Request) async throws -> Response {
        guard let pattern = NamePattern(request.queryValue("q") ?? "") else {
            throw HTTPError(.badRequest, "Say what to look for: `q` is missing.")
        }
        let top = try folder(in: request)
        guard let slot = searches.take() else { throw RootError.tooMany }
        let producer = try await request.io.run { [foldersToSearch] in
            try SearchProducer(
                for: pattern, below: top, in: request.share, address: request.folderAddress(.root),
                memory: foldersToSearch.portion(watch: slot.watch))
        }
        return try .chunks(
            producer, to: request, fields: ["Content-Type": "application/json", "Cache-Control": "no-store"],
            until: slot)
    }

    /// The folder in the query's `in`; the share's root without it.
    func folder(in request: Request) throws(HTTPError) -> SharePath {
        do {
            return try SharePath(bytes: request.queryBytes("in") ?? [])
        } catch {
            throw HTTPError(error)
        }
    }
}
