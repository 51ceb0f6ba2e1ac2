internal import CCrypt
internal import Crypto

/// What is known of an account's password, and how one is compared with it.
package enum StoredPassword: Equatable, Sendable {
    /// The password itself.
    case plain([UInt8])
    /// A hash of the system's libcrypt: `$6$…`, `$y$…`, `$2y$…` and its other kinds.
    case crypt(String)
    /// `SHA-256(user:realm:password)`, which serves Basic and Digest alike. RFC 7616 §3.4.2.
    case digest([UInt8])

    /// Whether it has the form of a hash that another program made: `$kind$…`, `{KIND}…`, or the name of a function.
    ///
    /// Taken for a password, whoever reads the file would log in with the hash itself. By their form and not by a list
    /// of kinds, which would never be complete.
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

    /// How the Digest kind begins as text; 64 hexadecimal digits follow.
    static let digestMark = "$digest-sha256$"

    /// Tells the kinds apart by their beginning; what is no hash is the password itself.
    /// - Parameter text: as it stands in a rule or a password file.
    /// - Throws: ``AccessRuleError`` for a hash that nothing here can check.
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

    /// Whether comparing takes as long as crypt(3) wants it to.
    var isSlow: Bool { if case .crypt = self { true } else { false } }

    /// The kind and the cost of a slow hash, nil for quick ones.
    ///
    /// Those that share it take the same time.
    var cost: String? {
        guard case .crypt(let hash) = self else { return nil }
        let parts = hash.split(separator: "$", maxSplits: 2)
        guard parts.count == 3 else { return hash }
        switch parts[0] {
        // Of scrypt the cost is of fixed length, of SHA-2 it may be missing.
        case "7": return "7$" + parts[1].prefix(11)
        case "5", "6": return parts[1].hasPrefix("rounds=") ? "\(parts[0])$\(parts[1])" : String(parts[0])
        default: return "\(parts[0])$\(parts[1])"
        }
    }

    /// Whether `password` is this one.
    ///
    /// Takes the same time whatever differs.
    /// - Parameters:
    ///   - password: what a client sent.
    ///   - user: the account's name.
    ///   - realm: the server's realm.
    /// - Returns: true when it is.
    func matches(_ password: [UInt8], user: [UInt8], realm: String) -> Bool {
        switch self {
        case .plain(let stored): return Self.same(Array(SHA256.hash(data: stored)), Array(SHA256.hash(data: password)))
        case .digest(let stored):
            return Self.same(stored, Self.digestSecret(user: user, realm: realm, password: password))
        case .crypt(let stored): return PasswordCrypt.matches(password, stored)
        }
    }

    /// Another one for each password and each hash of it; what is sealed with it ends when the password changes.
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

    /// Compares without stopping at the first difference.
    static func same(_ a: [UInt8], _ b: [UInt8]) -> Bool {
        guard a.count == b.count else { return false }
        var difference: UInt8 = 0
        for (x, y) in zip(a, b) { difference |= x ^ y }
        return difference == 0
    }
}

/// The system's crypt(3).
///
/// Slow on purpose: never on an event loop.
enum PasswordCrypt {
    /// libcrypt refuses longer ones.
    private static let longest = 511

    /// Whether libcrypt knows the kind and the parameters of a hash.
    static func canCheck(_ hash: String) -> Bool {
        // A setting without its hash would be accepted by libcrypt, and match nothing.
        hash.utf8.count < 384 && hash.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
            && crypted([0x78], hash)?.utf8.count == hash.utf8.count
    }

    static func matches(_ password: [UInt8], _ hash: String) -> Bool {
        guard let made = crypted(password, hash) else { return false }
        return StoredPassword.same(Array(made.utf8), Array(hash.utf8))
    }

    /// The hash of `password` with the kind, parameters and salt of `setting`; nil when libcrypt refuses.
    static func crypted(_ password: [UInt8], _ setting: String) -> String? {
        guard password.count <= longest, !password.contains(0) else { return nil }
        let buffer = UnsafeMutablePointer<crypt_data>.allocate(capacity: 1)
        unsafe buffer.initialize(to: crypt_data())
        defer {
            unsafe buffer.deinitialize(count: 1)
            unsafe buffer.deallocate()
        }
        let phrase = password.map { CChar(bitPattern: $0) } + [0]
        guard let made = unsafe crypt_rn(phrase, setting, buffer, Int32(MemoryLayout<crypt_data>.size)) else {
            return nil
        }
        let text = unsafe String(cString: made)
        return text.hasPrefix("*") ? nil : text
    }

    /// A fresh setting of a kind, with a random salt; nil when libcrypt does not know the kind.
    static func setting(_ prefix: String) -> String? {
        var buffer = [CChar](repeating: 0, count: Int(CRYPT_GENSALT_OUTPUT_SIZE))
        guard unsafe crypt_gensalt_rn(prefix, 0, nil, 0, &buffer, Int32(buffer.count)) != nil else { return nil }
        return String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}

/// Makes the hashes that `--auth`, password files and links take.
public enum PasswordHash: String, CaseIterable, Sendable {
    /// yescrypt, `$y$`: the strongest.
    case yescrypt
    /// SHA-512, `$6$`: understood everywhere.
    case sha512
    /// bcrypt, `$2y$`: as `htpasswd -B` makes.
    case bcrypt
    /// A Digest secret, which also serves clients that do not send the password.
    case digest

    /// Hashes a password.
    /// - Parameters:
    ///   - password: at most 511 bytes, without NUL.
    ///   - user: the account's name; a Digest secret holds for this name alone.
    /// - Returns: what goes behind `user:`.
    /// - Throws: ``AccessRuleError`` for a password that cannot be hashed.
    public func make(password: String, user: String) throws(AccessRuleError) -> String {
        guard !password.isEmpty else { throw AccessRuleError("the password is empty") }
        let prefix: String
        switch self {
        case .digest:
            let secret = StoredPassword.digestSecret(
                user: Array(user.utf8), realm: AccessRules.realm, password: Array(password.utf8))
            return StoredPassword.digestMark + Hex.text(secret)
        case .yescrypt: prefix = "$y$"
        case .sha512: prefix = "$6$"
        case .bcrypt: prefix = "$2y$"
        }
        guard let setting = PasswordCrypt.setting(prefix),
            let hash = PasswordCrypt.crypted(Array(password.utf8), setting)
        else { throw AccessRuleError("the password is longer than 511 bytes, or holds NUL") }
        return hash
    }
}
