import DirectoryRoot
import ServerCore

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension Request {
    /// The body, at most 1 MiB of JSON, decoded.
    /// - Throws: ``HTTPError`` 400 when it does not have the expected form, 413, 415.
    func document<Document: Decodable>(_ type: Document.Type) async throws -> Document {
        try await Self.decode(type, documentBytes())
    }

    /// The same for a document that may name many thousand things, of which only a few are processed at once.
    /// - Parameters:
    ///   - type: of the value.
    ///   - slots: the places for large documents.
    /// - Returns: the value, and the place to hold while it is processed.
    /// - Throws: also ``RootError/tooMany`` when all places are taken.
    func document<Document: Decodable>(
        _ type: Document.Type, in slots: Slots
    ) async throws -> (Document, Slots.Token?) {
        let bytes = try await documentBytes()
        guard bytes.count > 64 << 10 else { return (try Self.decode(type, bytes), nil) }
        // Before it is decoded, which takes a while.
        guard let slot = slots.take() else { throw RootError.tooMany }
        return (try Self.decode(type, bytes), slot)
    }

    private func documentBytes() async throws -> [UInt8] {
        let mediaType = fields["content-type"]?.prefix { $0 != ";" }.lowercased()
        guard mediaType == "application/json" else {
            throw HTTPError(.unsupportedMediaType, "Send JSON as application/json.")
        }
        return try await body.collect(upTo: 1 << 20)
    }

    private static func decode<Document: Decodable>(
        _ type: Document.Type, _ bytes: [UInt8]
    ) throws(HTTPError) -> Document {
        guard JSONNames.areShort(in: bytes), let document = try? JSONDecoder().decode(type, from: Data(bytes)) else {
            throw HTTPError(.badRequest, "This JSON is not what this address takes.")
        }
        return document
    }
}

/// Checks the names of a document's members before the decoder runs: the decoder hashes each, in time that may be
/// quadratic in its length, and only short ones are expected.
enum JSONNames {
    /// The most bytes of a name, as written.
    private static let longest = 64

    /// Whether no member's name is longer than any expected one; also false for what is not UTF-8.
    static func areShort(in document: [UInt8]) -> Bool {
        // The decoder also accepts UTF-16 and UTF-32, in which this would overlook names. UTF-8 needs no NUL.
        guard !document.contains(0) else { return false }
        var index = 0
        while let open = document[index...].firstIndex(of: UInt8(ascii: "\"")) {
            index = open + 1
            while index < document.count, document[index] != UInt8(ascii: "\"") {
                index += document[index] == UInt8(ascii: "\\") ? 2 : 1
            }
            guard index < document.count else { return true }
            let length = index - open - 1
            index += 1
            guard length > longest else { continue }
            let next = document[index...].first { !ASCII.isBlank($0) && $0 != 0x0A && $0 != 0x0D }
            if next == UInt8(ascii: ":") { return false }
        }
        return true
    }
}

/// Places named in a document of the page: as text or, if a name is not valid text, by address.
struct NamedPlaces: Decodable {
    var paths: [String]?
    var hrefs: [String]?
    /// For how many seconds all of a deletion can be undone that this is a part of.
    var undo: Double?

    private static let most = 100_000

    /// How long each is kept at least: an hour at most, since the disk has its room back only then.
    var time: Duration { .seconds(min(max(undo ?? 0, 0), 3_600)) }

    /// One of these places.
    struct Place {
        /// As written in the document.
        let said: String
        fileprivate let isAddress: Bool

        /// The place as a path; nil for what can't be in this share.
        func path(of request: Request) -> SharePath? {
            isAddress ? try? request.resolve(reference: said).path : try? SharePath(bytes: said.utf8)
        }
    }

    /// All of the places.
    /// - Throws: 400 when there are none, or too many.
    func places() throws(HTTPError) -> [Place] {
        let places =
            (paths ?? []).map { Place(said: $0, isAddress: false) }
            + (hrefs ?? []).map { Place(said: $0, isAddress: true) }
        guard !places.isEmpty, places.count <= Self.most else {
            throw HTTPError(.badRequest, "Name at least one file, and at most \(Self.most).")
        }
        return places
    }
}
