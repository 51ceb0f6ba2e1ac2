import DirectoryRoot
import FoundationEssentials
import ServerCore

extension Request {
    /// The body, at most 1 MiB of JSON, as a value.
    /// - Throws: ``HTTPError`` 400 when it is not what is wanted here, 413, 415.
    func document<Document: Decodable>(_ type: Document.Type) async throws -> Document {
        let mediaType = fields["content-type"]?.prefix { $0 != ";" }.lowercased()
        guard mediaType == "application/json" else {
            throw HTTPError(.unsupportedMediaType, "Send JSON as application/json.")
        }
        let bytes = try await body.collect(upTo: 1 << 20)
        do {
            return try JSONDecoder().decode(type, from: Data(bytes))
        } catch {
            throw HTTPError(.badRequest, "This JSON is not what this address takes.")
        }
    }
}

/// Places that a document of the page names: as text, or, where a name is no text, by address.
struct NamedPlaces: Decodable {
    var paths: [String]?
    var hrefs: [String]?

    private static let most = 100_000

    /// The places, as said and as paths; nil for what cannot be a path of this share.
    func places(of request: Request) throws(HTTPError) -> [(said: String, path: SharePath?)] {
        let texts = (paths ?? []).map { (said: $0, path: try? SharePath(bytes: $0.utf8)) }
        let addresses = (hrefs ?? []).map { (said: $0, path: try? request.resolve(reference: $0).path) }
        guard !(texts + addresses).isEmpty, texts.count + addresses.count <= Self.most else {
            throw HTTPError(.badRequest, "Name at least one file, and at most \(Self.most).")
        }
        return texts + addresses
    }
}
