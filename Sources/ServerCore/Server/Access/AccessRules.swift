public import DirectoryRoot

/// Who may do what, as given on the command line and in the configuration.
///
/// Without any rule, everybody may do everything.
public struct AccessRules: Sendable {
    /// The realm of Basic and Digest; Digest secrets are valid for it only.
    public static let realm = "shareserve"

    /// One user.
    package struct Account: Sendable {
        /// The name, which is compared with the bytes that the client sends.
        package var name: String
        package var password: StoredPassword
        /// In the given order.
        package var paths: [(path: SharePath, rights: Rights)]
    }

    /// The accounts, in the given order; a later rule with the same name and password adds its paths.
    package private(set) var accounts: [Account] = []
    /// What everybody may do without an account.
    package private(set) var everybody: [(path: SharePath, rights: Rights)] = []
    /// Names of this server besides those that it finds out itself: `files.example.com`, `.example.com` with all names
    /// below it, or `*`.
    public var allowedHosts: [String] = []
    /// Other sites whose pages may use this server: `https://app.example.com`, or `*`.
    public var corsOrigins: [String] = []
    /// Proxies that are trusted about their clients: addresses or networks, `10.0.0.0/8`.
    public var trustedProxies: [String] = []
    /// Sent as `Strict-Transport-Security` over TLS; nil sends none.
    public var hstsSeconds: Int?
    /// Makes the log-in page, no stream; its status and caching fields are set by the caller.
    ///
    /// nil has the page of the first handler that was added and has one, such as the uploader's; without any, browsers
    /// ask in a window of their own.
    public var logInPage: (@Sendable (LogInPrompt) -> Response)?

    /// No rule: everybody may do everything.
    public init() {}

    /// Whether there is any account.
    public var hasAccounts: Bool { !accounts.isEmpty }

    /// Whether there is any rule.
    public var isOn: Bool { !accounts.isEmpty || !everybody.isEmpty }

    /// Every path that a rule names, once.
    package var places: [SharePath] {
        var seen: Set<SharePath> = []
        return (accounts.flatMap(\.paths) + everybody).map(\.path).filter { seen.insert($0).inserted }
    }

    /// Whether an explicit rule lets everybody do everything in the whole share.
    public var opensEverything: Bool { RightsMap(rules: everybody).allows(.readWrite, throughout: .root) }

    /// Adds one `--auth` rule: `user:password@/path:rights,/path:rights`, or `@/path:rights` for everybody.
    ///
    /// The paths begin at the last `@/`, so a password may contain `:` and `@`. Rights are `rw`, `ro`, `w` (a drop box)
    /// and `none`; `ro` for a path without rights; without any path, `rw` for everything.
    /// - Throws: ``AccessRuleError`` with what is wrong, without the password.
    public mutating func add(rule: String) throws(AccessRuleError) {
        let text = Array(rule.utf8)
        var head = text[...]
        var paths: [(path: SharePath, rights: Rights)] = [(.root, .readWrite)]
        if let at = text.indices.last(where: {
            text[$0] == UInt8(ascii: "@") && text.dropFirst($0 + 1).first == UInt8(ascii: "/")
        }) {
            head = text[..<at]
            paths = try Self.paths(text[(at + 1)...])
        } else if text.first == UInt8(ascii: "@") || text.isEmpty {
            throw AccessRuleError("a rule is “user:password@/path:rights”, or “@/path:rights” for everybody")
        } else if let at = text.lastIndex(of: UInt8(ascii: "@")), Self.looksLikePaths(text[(at + 1)...]) {
            // Otherwise a typing mistake would give the whole share to an unintended password.
            throw AccessRuleError("a path begins with “/”, as in “user:password@/path:rights”")
        }
        if Self.holdsRules(head) {
            // Otherwise they would make one account, with an unintended password.
            throw AccessRuleError("“|” stands between rules in the environment only; give each by itself")
        }
        if head.isEmpty || head.elementsEqual(":".utf8) {
            everybody += paths
            return
        }
        guard let colon = head.firstIndex(of: UInt8(ascii: ":")), colon > head.startIndex else {
            throw AccessRuleError("a rule needs a user and a password: “user:password@/path:rights”")
        }
        let password = try StoredPassword(String(decoding: head[(colon + 1)...], as: UTF8.self))
        try add(String(decoding: head[..<colon], as: UTF8.self), password, paths)
    }

    /// Adds a user who may do this at a path and below it; called again with the same password, at another path too.
    ///
    /// - Parameters:
    ///   - name: without a colon, a quote or a control character.
    ///   - password: the password itself, whatever it looks like; ``add(rule:)`` takes hashes.
    ///   - rights: what the user may do there; the rule of the deepest path wins.
    ///   - path: from the root of the share.
    /// - Throws: ``AccessRuleError`` when the name or the password cannot be used, or the user has another password.
    public mutating func addUser(
        _ name: String, password: String, rights: Rights = .readWrite, at path: SharePath = .root
    ) throws(AccessRuleError) {
        // As bytes: a mark that combines with a colon makes another character of it.
        guard !name.isEmpty, !name.utf8.contains(UInt8(ascii: ":")) else {
            throw AccessRuleError("a user's name is empty or holds a colon")
        }
        guard !password.isEmpty else { throw AccessRuleError("a password is empty") }
        try add(name, .plain(Array(password.utf8)), [(path, rights)])
    }

    private mutating func add(
        _ name: String, _ password: StoredPassword, _ paths: [(path: SharePath, rights: Rights)]
    ) throws(AccessRuleError) {
        guard name.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F && $0 != UInt8(ascii: "\"") }) else {
            throw AccessRuleError("a user's name holds a quote or a control character")
        }
        if let index = accounts.firstIndex(where: { $0.name == name }) {
            // Otherwise one of them would silently not work.
            guard accounts[index].password == password else {
                throw AccessRuleError("the user “\(name)” has two different passwords")
            }
            accounts[index].paths += paths
        } else {
            accounts.append(Account(name: name, password: password, paths: paths))
        }
    }

    /// Adds the lines of an htpasswd file, each `user:hash`, optionally followed by paths as in a rule.
    ///
    /// Empty lines and those that begin with `#` are skipped.
    /// - Throws: ``AccessRuleError`` with the line number.
    public mutating func add(file text: String) throws(AccessRuleError) {
        var number = 0
        // Some editors write a byte order mark before the first name.
        let text = text.unicodeScalars.first == "\u{FEFF}" ? String(text.unicodeScalars.dropFirst()) : text
        for line in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline) {
            number += 1
            let rule = String(decoding: ASCII.trimmed(Array(line.utf8)), as: UTF8.self)
            guard !rule.isEmpty, !rule.hasPrefix("#") else { continue }
            do throws(AccessRuleError) {
                // A blank may be between the hash and its paths.
                try add(rule: rule.split(separator: " @/", maxSplits: 1).joined(separator: "@/"))
            } catch {
                throw AccessRuleError("line \(number): \(error.reason)")
            }
        }
    }

    /// The rights of one account in the whole share.
    ///
    /// Its own deepest rule wins. It may also do what everybody may, unless a rule of its own says `none` there.
    func rights(of account: Account) -> RightsMap {
        let own = RightsMap(rules: account.paths)
        let common: [(path: SharePath, rights: Rights)] = everybody.map { rule in
            guard account.paths.contains(where: { $0.path.contains(rule.path) }) else { return rule }
            let mine = own.rights(at: rule.path)
            return (rule.path, mine.isEmpty ? .none : mine.union(rule.rights))
        }
        // Of two rules for one path, the later wins: if both have one, the merged one.
        return RightsMap(rules: account.paths + common)
    }

    /// Whether the text after an “@” was meant as paths, though it does not begin with “/”.
    private static func looksLikePaths(_ text: ArraySlice<UInt8>) -> Bool {
        text.isEmpty || [":rw", ":ro", ":w", ":none"].contains { text.reversed().starts(with: $0.utf8.reversed()) }
    }

    /// Whether the text before the last “@/” contains another one, and a “|” after that, as several joined rules do.
    private static func holdsRules(_ head: ArraySlice<UInt8>) -> Bool {
        guard let bar = head.lastIndex(of: UInt8(ascii: "|")) else { return false }
        return head[..<bar].firstRange(of: Array("@/".utf8)) != nil
    }

    private static func paths(_ text: ArraySlice<UInt8>) throws(AccessRuleError) -> [(path: SharePath, rights: Rights)]
    {
        var result: [(path: SharePath, rights: Rights)] = []
        for item in text.split(separator: UInt8(ascii: ",")) {
            var path = ASCII.trimmed(item)
            var rights = Rights.readOnly
            if let colon = path.lastIndex(of: UInt8(ascii: ":")), !path[colon...].contains(UInt8(ascii: "/")) {
                switch String(decoding: path[(colon + 1)...], as: UTF8.self) {
                case "rw": rights = .readWrite
                case "ro": rights = .readOnly
                case "w": rights = .dropBox
                case "none": rights = .none
                default: throw AccessRuleError("rights are rw, ro, w or none")
                }
                path = path[..<colon]
            }
            guard path.first == UInt8(ascii: "/"), let decoded = try? RequestTarget.decode(path: path).path else {
                throw AccessRuleError("a path begins with “/”, and has “%” written as “%25”")
            }
            result.append((decoded, rights))
        }
        guard !result.isEmpty else { throw AccessRuleError("a rule needs a path behind its “@”") }
        return result
    }
}

/// What is wrong with a rule, for a person.
///
/// Never contains a password.
public struct AccessRuleError: Error, Equatable, Sendable, CustomStringConvertible {
    /// One line, without a full stop.
    public let reason: String

    /// An error about a rule.
    public init(_ reason: String) { self.reason = reason }

    /// The reason.
    public var description: String { reason }
}
