import DirectoryRoot

/// The accounts of one set of rules, prepared for lookups.
///
/// Immutable; new rules make a new one.
struct AccountBook: Sendable {
    struct Account: Sendable {
        let name: String
        let password: StoredPassword
        let rights: RightsMap
    }

    private let accounts: [String: Account]
    /// What everybody may do; nil when only accounts are admitted.
    let everybody: RightsMap?
    /// Whether Digest with this algorithm is offered: only if all accounts can answer it, since a client that prefers
    /// Digest never tries Basic.
    let offersSHA256: Bool
    let offersMD5: Bool
    /// A slow password hash of each kind and cost that some account has.
    private let decoys: [StoredPassword]
    /// Compared with for unknown names if no password is slow, so that they take as long as known ones.
    private let quickDecoy: StoredPassword
    /// Whether comparing may take long.
    let isSlow: Bool

    init(_ rules: AccessRules) {
        accounts = Dictionary(
            rules.accounts.map {
                ($0.name, Account(name: $0.name, password: $0.password, rights: rules.rights(of: $0)))
            },
            uniquingKeysWith: { $1 })
        everybody = rules.isOn ? (rules.everybody.isEmpty ? nil : RightsMap(rules: rules.everybody)) : .all
        let passwords = rules.accounts.map(\.password)
        isSlow = passwords.contains(where: \.isSlow)
        decoys = Dictionary(passwords.compactMap { one in one.cost.map { ($0, one) } }) { first, _ in first }
            .sorted { $0.key < $1.key }.map(\.value)
        quickDecoy = passwords.first { !$0.isSlow } ?? .plain(Array("nobody has this".utf8))
        offersSHA256 = !passwords.isEmpty && !isSlow
        offersMD5 = offersSHA256 && passwords.allSatisfy { if case .plain = $0 { true } else { false } }
    }

    var isEmpty: Bool { accounts.isEmpty }

    /// The account with exactly this name.
    func account(named name: String) -> Account? { accounts[name] }

    /// Whether some account has more rights than everybody at one of these places or below it, so that logging in may
    /// help.
    func someoneMayMore(at places: [SharePath]) -> Bool {
        accounts.values.contains { account in
            let ruled = account.rights.rules.map(\.path) + (everybody?.rules.map(\.path) ?? [])
            return places.contains { place in
                ([place] + ruled.filter(place.isAncestor)).contains { path in
                    !account.rights.rights(at: path).isSubset(of: everybody?.rights(at: path) ?? .none)
                }
            }
        }
    }

    /// The account with a name, which Windows may send as `DOMAIN\user`.
    func account(_ name: String) -> Account? {
        if let account = accounts[name] { return account }
        guard let slash = name.lastIndex(of: "\\") else { return nil }
        return accounts[String(name[name.index(after: slash)...])]
    }

    /// The name under which attempts at an account are counted, in whichever form it is sent.
    func countedName(_ user: String) -> String {
        account(user)?.name ?? user.split(separator: "\\").last.map(String.init) ?? user
    }

    /// The same for the name in a Digest, which may be a hash of it.
    func countedName(_ digest: DigestCredentials) -> String {
        guard digest.isUserHash else { return countedName(RequestHead.text(digest.user[...])) }
        return account(hash: digest.user, digest.algorithm)?.name
            ?? RequestHead.text(digest.user.map(ASCII.lowercased)[...])
    }

    /// The account if the password is right.
    ///
    /// Takes as long for an unknown name as for a known one.
    func verify(user: String, password: [UInt8]) -> Account? {
        let account = account(user)
        let name = Array((account?.name ?? user).utf8)
        var isRight = false
        for (index, stored) in compared(for: account).enumerated() {
            let matches = stored.matches(password, user: name, realm: AccessRules.realm)
            if index == 0 { isRight = matches }
        }
        return isRight ? account : nil
    }

    /// The passwords to compare with, the account's own first: one of each slow kind and cost, for every request, so
    /// that the time reveals neither whether the name is known nor how its password is stored.
    func compared(for account: Account?) -> [StoredPassword] {
        let own = account?.password ?? quickDecoy
        return [own] + decoys.filter { $0.cost != own.cost }
    }

    /// The account if the Digest is right.
    ///
    /// RFC 7616 §3.4.1.
    /// - Parameters:
    ///   - digest: what the client sent.
    ///   - method: of the request.
    /// - Returns: nil when the user, the password or the algorithm is wrong.
    func verify(_ digest: DigestCredentials, method: String) -> Account? {
        guard digest.algorithm == .sha256 ? offersSHA256 : offersMD5 else { return nil }
        let account =
            digest.isUserHash
            ? account(hash: digest.user, digest.algorithm) : account(RequestHead.text(digest.user[...]))
        // The name is hashed as the client sent it, with the domain that Windows may have prepended.
        let user = digest.isUserHash ? Array((account?.name ?? "").utf8) : digest.user
        let realm = Array(AccessRules.realm.utf8)
        var secrets: [String] = []
        switch account?.password ?? quickDecoy {
        case .plain(let password):
            var names = [user]
            if let name = account?.name, Array(name.utf8) != user { names.append(Array(name.utf8)) }
            for name in names {
                secrets.append(Self.hash(digest.algorithm, [name, realm, password]))
                let (latinName, latinPassword) = (Credentials.inLatin1(name), Credentials.inLatin1(password))
                guard latinName != nil || latinPassword != nil else { continue }
                secrets.append(
                    Self.hash(digest.algorithm, [latinName ?? name, realm, latinPassword ?? password]))
            }
        case .digest(let secret): secrets.append(Hex.text(secret))
        case .crypt: break
        }
        let request = Self.hash(digest.algorithm, [Array(method.utf8), digest.uri])
        let isRight = secrets.contains { secret in
            let expected = Self.hash(
                digest.algorithm,
                [Array(secret.utf8), digest.nonce, digest.nc, digest.cnonce, Array("auth".utf8), Array(request.utf8)])
            return ConstantTime.equal(Array(expected.utf8), digest.response)
        }
        return isRight ? account : nil
    }

    private func account(hash: [UInt8], _ algorithm: DigestAlgorithm) -> Account? {
        let sought = hash.map(ASCII.lowercased)
        var found: Account?
        // All of them are compared, wherever the right one is.
        for account in accounts.values {
            let own = Self.hash(algorithm, [Array(account.name.utf8), Array(AccessRules.realm.utf8)])
            if ConstantTime.equal(Array(own.utf8), sought) { found = account }
        }
        return found
    }

    /// The hash of the parts joined by colons, in hexadecimal.
    private static func hash(_ algorithm: DigestAlgorithm, _ parts: [[UInt8]]) -> String {
        var digester = Digester(algorithm)
        digester.update(Array(parts.joined(separator: [UInt8(ascii: ":")])))
        return Hex.text(digester.finish())
    }
}
