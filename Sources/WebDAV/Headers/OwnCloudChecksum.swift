internal import ServerCore

/// A checksum as ownCloud's clients write it: `SHA1:f572d3…`.
struct OwnCloudChecksum: Hashable, Sendable {
    /// The raw value is the name under which the share stores it; responses list them in this order.
    enum Algorithm: String, CaseIterable, Sendable {
        case sha1
        case md5
        case sha256
        case adler32

        /// Nil for Adler-32, which is not a digest.
        var digest: DigestAlgorithm {
            switch self {
            case .md5: .md5
            case .sha256: .sha256
            case .sha1, .adler32: .sha
            }
        }

        fileprivate var length: Int { self == .adler32 ? 4 : digest.length }
    }

    /// Nil for an unknown algorithm.
    let algorithm: Algorithm?
    let value: [UInt8]

    /// Nil when it is malformed.
    init?(_ text: some StringProtocol) {
        let pair = text.split(separator: ":", maxSplits: 1)
        guard pair.count == 2 else { return nil }
        algorithm = Algorithm(rawValue: pair[0].lowercased().filter { $0 != "-" })
        guard algorithm != nil else {
            value = []
            return
        }
        guard let bytes = Hex.bytes(pair[1].utf8), bytes.count == algorithm?.length else { return nil }
        value = bytes
    }

    /// The content of the `checksum` element: the stored ones, separated by spaces.
    static func text(of kept: [String: [UInt8]]) -> String {
        Algorithm.allCases.compactMap { algorithm in
            kept[algorithm.rawValue].map { algorithm.rawValue.uppercased() + ":" + Hex.text($0) }
        }.joined(separator: " ")
    }
}
