internal import ServerCore

/// A check sum as ownCloud's clients write it: `SHA1:f572d3…`.
struct OwnCloudChecksum: Hashable, Sendable {
    /// The raw value is the name under which the share keeps it; all of them appear in this order.
    enum Algorithm: String, CaseIterable, Sendable {
        case sha1
        case md5
        case sha256
        case adler32

        /// Not for Adler-32, which is no digest.
        var digest: DigestAlgorithm {
            switch self {
            case .md5: .md5
            case .sha256: .sha256
            case .sha1, .adler32: .sha
            }
        }

        fileprivate var length: Int { self == .adler32 ? 4 : digest.length }
    }

    /// Nil for one that is not known here.
    let algorithm: Algorithm?
    let value: [UInt8]

    /// Nil when it is malformed.
    init?(_ text: some StringProtocol) {
        let pair = text.split(separator: ":", maxSplits: 1)
        guard pair.count == 2 else { return nil }
        var digits = pair[1].utf8.map { ASCII.hexValue($0) }[...]
        algorithm = Algorithm(rawValue: pair[0].lowercased().filter { $0 != "-" })
        guard algorithm != nil else {
            value = []
            return
        }
        var bytes: [UInt8] = []
        while let first = digits.popFirst() {
            guard let high = first, let second = digits.popFirst(), let low = second else { return nil }
            bytes.append(high << 4 | low)
        }
        guard bytes.count == algorithm?.length else { return nil }
        value = bytes
    }

    /// What the `checksum` element holds: those that are kept, with blanks between them.
    static func text(of kept: [String: [UInt8]]) -> String {
        Algorithm.allCases.compactMap { algorithm in
            kept[algorithm.rawValue].map { value in
                let digits = value.map { byte in
                    (byte < 16 ? "0" : "") + String(byte, radix: 16)
                }
                return algorithm.rawValue.uppercased() + ":" + digits.joined()
            }
        }.joined(separator: " ")
    }
}
