internal import ServerCore

/// The digests that a client sent for a content, computed while it is received.
///
/// RFC 9530, and ownCloud's `OC-Checksum`.
struct UploadDigests: Sendable {
    private enum Hash: Sendable {
        case cryptographic(Digester)
        case adler32(Adler32)
    }

    private struct Check: Sendable {
        /// The name under which the share stores it; empty for one that is not stored.
        var name: String
        var hash: Hash
        var expected: [UInt8]
    }

    private var checks: [Check] = []
    /// The digests of the bytes on the wire, when these are not the content itself.
    private var encoded: [(algorithm: DigestAlgorithm, expected: [UInt8])] = []
    private var wanted: (algorithm: DigestAlgorithm, digester: Digester)?

    /// Reads the fields; algorithms not known here are not checked.
    ///
    /// - Parameters:
    ///   - reprDigest: the value of `Repr-Digest`.
    ///   - contentDigest: the value of `Content-Digest`.
    ///   - ocChecksum: the value of `OC-Checksum`.
    ///   - wanted: the value of `Want-Repr-Digest`: the digest of the content that the response shall have.
    ///   - isEncoded: whether the body is compressed: then the first two are digests of its compressed bytes. RFC 9530
    ///     §3.1.
    /// - Throws: 400 when a digest of a known algorithm is malformed.
    init(
        reprDigest: String?, contentDigest: String?, ocChecksum: String?, wanted: String? = nil, isEncoded: Bool = false
    ) throws(HTTPError) {
        if let wanted, let algorithm = ReprDigest.wanted(field: wanted) {
            self.wanted = (algorithm, Digester(algorithm))
        }
        for field in [reprDigest, contentDigest] {
            guard let field else { continue }
            for (algorithm, digest) in try ReprDigest(field: field).digests {
                if isEncoded {
                    encoded.append((algorithm, digest))
                } else {
                    checks.append(Check(name: "", hash: .cryptographic(Digester(algorithm)), expected: digest))
                }
            }
        }
        if let ocChecksum {
            for part in ocChecksum.split(separator: " ") { try add(ownCloud: part) }
        }
    }

    var isEmpty: Bool { checks.isEmpty && wanted == nil }

    /// The digest of the received content that the client wants in the response.
    var answer: ReprDigest? { wanted.map { ReprDigest($0.algorithm, $0.digester.finish()) } }

    mutating func update(_ bytes: [UInt8]) {
        wanted?.digester.update(bytes)
        for index in checks.indices {
            switch checks[index].hash {
            case .cryptographic(var digester):
                digester.update(bytes)
                checks[index].hash = .cryptographic(digester)
            case .adler32(var sum):
                sum.update(bytes)
                checks[index].hash = .adler32(sum)
            }
        }
    }

    /// Has the compressed bytes hashed while they are read.
    func watch(_ body: RequestBody) {
        if !encoded.isEmpty { body.hashEncoded(by: encoded.map(\.algorithm)) }
    }

    /// - Parameter body: the one that was watched, read to its end.
    /// - Throws: 400 when its compressed bytes do not have the digests that were sent.
    func check(encoded body: RequestBody) throws(HTTPError) {
        for (algorithm, expected) in encoded where body.encodedDigest(by: algorithm) != expected {
            throw Self.mismatch
        }
    }

    /// - Throws: 400 when the content does not have the digests that were sent.
    func check() throws(HTTPError) {
        for check in checks {
            let value =
                switch check.hash {
                case .cryptographic(let digester): digester.finish()
                case .adler32(let sum): sum.value
                }
            guard value == check.expected else { throw Self.mismatch }
        }
    }

    private static let mismatch = HTTPError(
        .badRequest, "The content does not match its digest. Send the file again.")

    /// The checksums that the client will ask for later, by the names under which the share stores them.
    var kept: [String: [UInt8]] {
        Dictionary(checks.filter { !$0.name.isEmpty }.map { ($0.name, $0.expected) }) { first, _ in first }
    }

    /// Adds one `SHA1:…` in hexadecimal.
    private mutating func add(ownCloud part: Substring) throws(HTTPError) {
        guard let sum = OwnCloudChecksum(part) else {
            throw HTTPError(.badRequest, "The OC-Checksum field is malformed.")
        }
        guard let known = sum.algorithm else { return }
        let hash: Hash = known == .adler32 ? .adler32(Adler32()) : .cryptographic(Digester(known.digest))
        checks.append(Check(name: known.rawValue, hash: hash, expected: sum.value))
    }
}
