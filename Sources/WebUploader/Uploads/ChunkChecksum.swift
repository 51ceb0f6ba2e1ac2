import CChecksums
import Crypto
import ServerCore

/// The checksum of one request's bytes, as announced by tus's `Upload-Checksum` or a `Content-Digest`.
///
/// tus 1.0, Checksum; RFC 9530 §2.
struct ChunkChecksum: Sendable {
    /// The algorithms, as `Tus-Checksum-Algorithm` lists them.
    static let algorithms = "sha1,sha256,crc32c"

    private enum State: Sendable {
        case sha1(Insecure.SHA1)
        case sha256(SHA256)
        case crc32c(UInt32)
        case digest(Digester)
    }

    private let expected: [UInt8]
    private var state: State

    /// Parses `sha1 Kq5sNclPz7QV2+lfQIuc6R7oRu0=`.
    /// - Throws: ``HTTPError`` 400 for an unknown algorithm or a malformed checksum.
    init(field: String) throws(HTTPError) {
        let parts = field.utf8.split(separator: UInt8(ascii: " ")).map { Array($0) }
        guard parts.count == 2, let expected = Base64.decode(parts[1]) else { throw Self.malformed }
        let length: Int
        switch String(decoding: parts[0], as: UTF8.self) {
        case "sha1": (state, length) = (.sha1(Insecure.SHA1()), 20)
        case "sha256": (state, length) = (.sha256(SHA256()), 32)
        case "crc32c": (state, length) = (.crc32c(0), 4)
        default: throw HTTPError(.badRequest, "This checksum is not known. Use one of " + Self.algorithms + ".")
        }
        guard expected.count == length else { throw Self.malformed }
        self.expected = expected
    }

    /// All checksums that a request announces for its own bytes.
    /// - Throws: ``HTTPError`` 400 for what is malformed or unknown; 415 for encoded bytes, which are not the upload's
    ///   own.
    static func all(of request: Request) throws(HTTPError) -> [ChunkChecksum] {
        guard !request.body.isEncoded else {
            throw HTTPError(
                .unsupportedMediaType,
                "The bytes of an upload in parts are taken as they are, without Content-Encoding.",
                fields: ["Accept-Encoding": "identity"])
        }
        var checksums: [ChunkChecksum] = []
        if let field = request.fields["upload-checksum"] { checksums.append(try ChunkChecksum(field: field)) }
        if let field = request.fields["content-digest"] {
            for (algorithm, digest) in try ReprDigest(field: field).digests {
                checksums.append(ChunkChecksum(expected: digest, state: .digest(Digester(algorithm))))
            }
        }
        return checksums
    }

    private init(expected: [UInt8], state: State) {
        self.expected = expected
        self.state = state
    }

    /// Adds bytes of the request.
    mutating func update(_ bytes: UnsafeRawBufferPointer) {
        switch state {
        case .sha1(var hash):
            unsafe hash.update(bufferPointer: bytes)
            state = .sha1(hash)
        case .sha256(var hash):
            unsafe hash.update(bufferPointer: bytes)
            state = .sha256(hash)
        case .crc32c(let value):
            state = unsafe .crc32c(checksum_crc32c(value, bytes.baseAddress, bytes.count))
        case .digest(var digester):
            unsafe digester.update(bytes)
            state = .digest(digester)
        }
    }

    /// Whether the bytes match the announced checksum.
    func isMet() -> Bool {
        switch state {
        case .sha1(let hash): hash.finalize().elementsEqual(expected)
        case .sha256(let hash): hash.finalize().elementsEqual(expected)
        case .crc32c(let value): unsafe withUnsafeBytes(of: value.bigEndian) { unsafe $0.elementsEqual(expected) }
        case .digest(let digester): digester.finish() == expected
        }
    }

    private static let malformed = HTTPError(.badRequest, "Upload-Checksum is malformed.")
}
