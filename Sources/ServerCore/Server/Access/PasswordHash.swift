/// Makes the hashes that `--auth`, password files and links accept.
public enum PasswordHash: String, CaseIterable, Sendable {
    /// yescrypt, `$y$`: the strongest.
    case yescrypt
    /// SHA-512, `$6$`: understood everywhere.
    case sha512
    /// bcrypt, `$2y$`: like that of `htpasswd -B`.
    case bcrypt
    /// A Digest secret, which also works for clients that do not send the password.
    case digest

    /// Hashes a password.
    /// - Parameters:
    ///   - password: at most 511 bytes, without NUL.
    ///   - user: the account's name; a Digest secret is valid for this name only.
    /// - Returns: what follows `user:`.
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
