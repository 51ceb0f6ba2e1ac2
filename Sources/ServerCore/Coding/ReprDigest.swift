internal import Crypto
package import DirectoryRoot

/// A hash algorithm that HTTP has a name for.
///
/// RFC 9530 §5.
package enum DigestAlgorithm: String, CaseIterable, Sendable {
    /// The preferred one.
    case sha256 = "sha-256"
    /// With a digest twice as long.
    case sha512 = "sha-512"
    /// For old clients that check for accidental damage; no protection against forgery.
    case sha = "sha"
    /// Like `sha`.
    case md5 = "md5"

    /// The length of a digest in bytes.
    package var length: Int {
        switch self {
        case .sha256: 32
        case .sha512: 64
        case .sha: 20
        case .md5: 16
        }
    }
}

/// Computes one digest, piece by piece.
package struct Digester: Sendable {
    private enum State: Sendable {
        case sha256(SHA256)
        case sha512(SHA512)
        case sha(Insecure.SHA1)
        case md5(Insecure.MD5)
    }

    private var state: State

    /// Prepares to hash.
    package init(_ algorithm: DigestAlgorithm) {
        state =
            switch algorithm {
            case .sha256: .sha256(SHA256())
            case .sha512: .sha512(SHA512())
            case .sha: .sha(Insecure.SHA1())
            case .md5: .md5(Insecure.MD5())
            }
    }

    /// Hashes more bytes.
    package mutating func update(_ bytes: [UInt8]) { unsafe bytes.withUnsafeBytes { unsafe update($0) } }

    /// Hashes more bytes.
    package mutating func update(_ bytes: UnsafeRawBufferPointer) {
        switch state {
        case .sha256(var hash):
            unsafe hash.update(bufferPointer: bytes)
            state = .sha256(hash)
        case .sha512(var hash):
            unsafe hash.update(bufferPointer: bytes)
            state = .sha512(hash)
        case .sha(var hash):
            unsafe hash.update(bufferPointer: bytes)
            state = .sha(hash)
        case .md5(var hash):
            unsafe hash.update(bufferPointer: bytes)
            state = .md5(hash)
        }
    }

    /// The digest of all bytes so far.
    package func finish() -> [UInt8] {
        switch state {
        case .sha256(let hash): Array(hash.finalize())
        case .sha512(let hash): Array(hash.finalize())
        case .sha(let hash): Array(hash.finalize())
        case .md5(let hash): Array(hash.finalize())
        }
    }
}

/// The value of `Repr-Digest` or `Content-Digest`: digests by algorithm.
///
/// RFC 9530 §2, §3.
package struct ReprDigest: Equatable, Sendable {
    /// The digests of the known algorithms, with the right length.
    package let digests: [DigestAlgorithm: [UInt8]]

    /// A field with one digest.
    package init(_ algorithm: DigestAlgorithm, _ digest: [UInt8]) {
        digests = [algorithm: digest]
    }

    /// Parses a field's value: `sha-256=:base64:, …`; unknown algorithms are skipped.
    /// - Parameter field: the field's lines, joined by commas.
    /// - Throws: ``HTTPError`` 400 when a known algorithm's digest is malformed.
    package init(field: String) throws(HTTPError) {
        var digests: [DigestAlgorithm: [UInt8]] = [:]
        for (algorithm, value) in Self.members(of: field) {
            let value = value ?? []
            guard value.count >= 2, value.first == UInt8(ascii: ":"), value.last == UInt8(ascii: ":"),
                let digest = Base64.decode(value.dropFirst().dropLast()), digest.count == algorithm.length
            else {
                throw HTTPError(.badRequest, "The digest field is malformed: write \(algorithm.rawValue)=:base64:.")
            }
            digests[algorithm] = digest
        }
        self.digests = digests
    }

    /// The members of a field that name a known algorithm, with their values.
    private static func members(of field: String) -> [(DigestAlgorithm, ArraySlice<UInt8>?)] {
        field.utf8.split(separator: UInt8(ascii: ",")).compactMap { member in
            let parts = Array(member).split(
                separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            let name = String(decoding: ASCII.trimmed(parts[0]), as: UTF8.self).lowercased()
            return DigestAlgorithm(rawValue: name).map { ($0, parts.count > 1 ? item(parts[1]) : nil) }
        }
    }

    /// A member's value without parameters, which have no meaning here.
    ///
    /// RFC 9651 §3.1.2.
    private static func item(_ member: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        ASCII.trimmed(member.prefix { $0 != UInt8(ascii: ";") })
    }

    /// The digest of a whole file; reads all of it, in pieces, so that others can use the pool in between.
    ///
    /// - Parameters:
    ///   - entry: the open file.
    ///   - algorithm: the digest's.
    ///   - io: the pool for the file's disk.
    ///   - isKept: whether it is to be stored with the file.
    /// - Throws: 503 when digests of many files are being made; ``RootError/preconditionFailed`` when the file becomes
    ///   shorter meanwhile; `CancellationError`.
    package init(of entry: Entry, _ algorithm: DigestAlgorithm, io: IOPool, isKept: Bool = false) async throws {
        let place = try io.placeForDigest(isKept: isKept)
        defer { withExtendedLifetime(place) {} }
        var digester = Digester(algorithm)
        var offset: Int64 = 0
        while offset < entry.attributes.size {
            let (from, before) = (offset, digester)
            let limit = Int(min(1_048_576, entry.attributes.size - offset))
            let (count, after) = try await io.digest(ofUpload: false) { () throws -> (Int, Digester) in
                var next = before
                let bytes = try entry.bytes(at: from, upTo: limit)
                next.update(bytes)
                return (bytes.count, next)
            }
            guard count > 0 else { throw RootError.preconditionFailed }
            digester = after
            offset += Int64(count)
            try Task.checkCancellation()
            await Task.yield()
        }
        self.init(algorithm, digester.finish())
    }

    /// The strongest algorithm with a digest; nil when there is none.
    package var strongest: DigestAlgorithm? {
        [.sha512, .sha256, .sha, .md5].first { digests[$0] != nil }
    }

    /// The field's value.
    package var text: String {
        DigestAlgorithm.allCases.compactMap { algorithm in
            digests[algorithm].map { "\(algorithm.rawValue)=:\(Base64.encode($0)):" }
        }.joined(separator: ", ")
    }

    /// The known algorithm that a `Want-Repr-Digest` field prefers: `sha-256=10, sha-512=3`.
    ///
    /// RFC 9530 §4.
    /// - Parameter field: the field's lines, joined by commas.
    /// - Returns: nil when no known algorithm is wanted.
    package static func wanted(field: String) -> DigestAlgorithm? {
        var best: (algorithm: DigestAlgorithm, weight: Int64)?
        for (algorithm, value) in Self.members(of: field) {
            guard let value, let weight = ASCII.decimal(value), (1...10).contains(weight) else { continue }
            if weight > best?.weight ?? 0 { best = (algorithm, weight) }
        }
        return best?.algorithm
    }
}
