internal import Crypto

/// An account's stored password, and how a given one is compared with it.
package enum StoredPassword: Equatable, Sendable {
    /// The password itself.
    case plain([UInt8])
    /// A hash for the system's libcrypt: `$6$…`, `$y$…`, `$2y$…` and other kinds.
    case crypt(String)
    /// `SHA-256(user:realm:password)`, which serves Basic and Digest alike. RFC 7616 §3.4.2.
    case digest([UInt8])

    /// Whether it looks like a hash made by another program: `$kind$…`, `{KIND}…`, or the name of a function.
    ///
    /// If such a text were taken for a password, whoever reads the file could log in with the hash itself. Recognised
    /// by the form and not by a list of kinds, which would never be complete.
    private static func looksHashed(_ text: String) -> Bool {
        let bytes = Array(text.lowercased().utf8)
        let marks = ["pbkdf2_", "pbkdf2:", "scrypt:", "scrypt$", "scram-", "argon2$", "bcrypt$", "bcrypt_"]
        if marks.contains(where: { bytes.starts(with: $0.utf8) }) { return true }
        let end: UInt8
        switch bytes.first {
        case UInt8(ascii: "$"): end = UInt8(ascii: "$")
        case UInt8(ascii: "{"): end = UInt8(ascii: "}")
        default: return false
        }
        let kind = bytes.dropFirst().prefix { ASCII.isLetter($0) || ASCII.isDigit($0) || "-._".utf8.contains($0) }
        return !kind.isEmpty && bytes.dropFirst(1 + kind.count).first == end
    }

    /// The prefix of a Digest hash as text; 64 hexadecimal digits follow.
    static let digestMark = "$digest-sha256$"

    /// Recognises the kinds by their prefix; what is no hash is the password itself.
    /// - Parameter text: as in a rule or a password file.
    /// - Throws: ``AccessRuleError`` for a hash that can't be checked here.
    package init(_ text: String) throws(AccessRuleError) {
        if text.hasPrefix(Self.digestMark) {
            guard let bytes = Hex.bytes(text.dropFirst(Self.digestMark.count).utf8), bytes.count == 32 else {
                throw AccessRuleError("a Digest hash is \(Self.digestMark) and 64 hexadecimal digits")
            }
            self = .digest(bytes)
        } else if ["$6$", "$y$", "$2y$", "$2b$", "$2a$", "$5$", "$gy$", "$7$"].contains(where: text.hasPrefix) {
            guard PasswordCrypt.canCheck(text) else { throw AccessRuleError("a password's hash is malformed") }
            self = .crypt(text)
        } else if Self.looksHashed(text) {
            throw AccessRuleError(
                """
                a password's hash is of a kind too weak to use, or unknown here; make one with “shareserve \
                hash-password” or “htpasswd -B”
                """)
        } else {
            guard !text.isEmpty else { throw AccessRuleError("a password is empty") }
            self = .plain(Array(text.utf8))
        }
    }

    /// Whether comparing takes as long as crypt(3) requires.
    var isSlow: Bool { if case .crypt = self { true } else { false } }

    /// The kind and cost of a slow hash; nil for quick ones.
    ///
    /// Hashes with equal values take the same time.
    var cost: String? {
        guard case .crypt(let hash) = self else { return nil }
        let parts = hash.split(separator: "$", maxSplits: 2)
        guard parts.count == 3 else { return hash }
        switch parts[0] {
        // The cost of scrypt has a fixed length; that of SHA-2 may be missing.
        case "7": return "7$" + parts[1].prefix(11)
        case "5", "6": return parts[1].hasPrefix("rounds=") ? "\(parts[0])$\(parts[1])" : String(parts[0])
        default: return "\(parts[0])$\(parts[1])"
        }
    }

    /// Whether `password` is this one.
    ///
    /// Takes the same time wherever they differ.
    /// - Parameters:
    ///   - password: what a client sent.
    ///   - user: the account's name.
    ///   - realm: the server's realm.
    /// - Returns: true when it is.
    func matches(_ password: [UInt8], user: [UInt8], realm: String) -> Bool {
        switch self {
        case .plain(let stored):
            return ConstantTime.equal(Array(SHA256.hash(data: stored)), Array(SHA256.hash(data: password)))
        case .digest(let stored):
            return ConstantTime.equal(stored, Self.digestSecret(user: user, realm: realm, password: password))
        case .crypt(let stored): return PasswordCrypt.matches(password, stored)
        }
    }

    /// Different for each password and each hash of it; whatever is sealed with it becomes invalid when the password
    /// changes.
    var fingerprint: [UInt8] {
        switch self {
        case .plain(let password): Array(SHA256.hash(data: [0] + password))
        case .crypt(let hash): Array(SHA256.hash(data: [1] + Array(hash.utf8)))
        case .digest(let secret): Array(SHA256.hash(data: [2] + secret))
        }
    }

    /// `SHA-256(user:realm:password)`.
    static func digestSecret(user: [UInt8], realm: String, password: [UInt8]) -> [UInt8] {
        Array(SHA256.hash(data: user + [0x3A] + Array(realm.utf8) + [0x3A] + password))
    }
}
