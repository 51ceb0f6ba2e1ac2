internal import Crypto

/// The secret part of a share link's address: `id-secret`, of which the server stores the id and a hash of the secret.
package struct LinkToken: Hashable, Sendable {
    /// Identifies the link.
    package let id: String
    private let secret: String

    /// Makes a secret for a new link, and its hash to be stored.
    /// - Returns: the secret; the address is ``text(id:secret:)`` once the link has its id.
    package static func makeSecret() -> (secret: String, hash: [UInt8]) {
        var generator = SystemRandomNumberGenerator()
        let secret = Hex.text((0..<16).map { _ in UInt8.random(in: 0...255, using: &generator) })
        return (secret, Array(SHA256.hash(data: Array(secret.utf8))))
    }

    /// The token as it appears in an address after `/.shareserve/s/`.
    package static func text(id: String, secret: String) -> String { "\(id)-\(secret)" }

    /// Parses a segment of an address; nil when it can't be a token.
    package init?(_ text: some Collection<UInt8>) {
        guard text.count <= 128 else { return nil }
        let parts = Array(text).split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        guard parts.count == 2,
            parts.allSatisfy({ !$0.isEmpty && $0.allSatisfy { ASCII.isLetter($0) || ASCII.isDigit($0) } })
        else { return nil }
        id = String(decoding: parts[0], as: UTF8.self)
        secret = String(decoding: parts[1], as: UTF8.self)
    }

    /// Whether this token's secret is the link's.
    package func opens(hash: [UInt8]) -> Bool {
        ConstantTime.equal(hash, Array(SHA256.hash(data: Array(secret.utf8))))
    }
}
