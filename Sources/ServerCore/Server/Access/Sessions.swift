import DirectoryRoot

/// The sessions of users who logged in on the log-in page, by a cookie that nobody else can make.
///
/// The cookie contains the user, the time of log-in and that of its last renewal, sealed with the share's own key
/// together with the account's password: every process on the share accepts it, before and after a restart, until the
/// password changes. Only the sessions that were ended must be remembered, and they are stored in the share.
final class Sessions: Sendable {
    /// The content of a cookie.
    struct Ticket: Equatable {
        var user: String
        /// Distinguishes it from the user's other sessions.
        var id: [UInt8]
        /// In milliseconds of the time of day.
        var begun: Int64
        var renewed: Int64
    }

    /// The result for the cookies of a request.
    enum Finding {
        case nobody
        case found(AccountBook.Account, Ticket)
        /// The disk must be asked whether the session was ended.
        case mustWait
    }

    /// The cookie's name.
    static let cookie = "shareserve-session"
    /// How long a session lasts without being used.
    static let idle: Int64 = 24 * 3_600_000
    /// The longest time that a session lasts after its log-in.
    static let longest: Int64 = 14 * 24 * 3_600_000
    /// The age at which a cookie in use is replaced by a newer one.
    static let renewal: Int64 = 3_600_000
    /// By how much another host's clock may be ahead.
    static let skew: Int64 = 60_000
    private static let idCount = 16
    static let sealCount = 32

    private let secret: ShareSecret
    private let ended: EndedSessions
    private let clock: @Sendable () -> Int64

    /// - Parameters:
    ///   - secret: seals the cookies.
    ///   - ended: the sessions that were ended.
    ///   - clock: milliseconds of the time of day.
    init(secret: ShareSecret, ended: EndedSessions, clock: @escaping @Sendable () -> Int64) {
        self.secret = secret
        self.ended = ended
        self.clock = clock
    }

    /// Begins a session.
    /// - Returns: the cookie's value.
    func begin(for account: AccountBook.Account) -> String {
        var generator = SystemRandomNumberGenerator()
        let id = (0..<Self.idCount).map { _ in UInt8.random(in: 0...255, using: &generator) }
        let now = clock()
        return text(Ticket(user: account.name, id: id, begun: now, renewed: now), account)
    }

    /// The account of the session in a request's cookies.
    /// - Parameters:
    ///   - cookies: the `Cookie` field.
    ///   - book: the accounts.
    ///   - waiting: false to return ``Finding/mustWait`` when the disk would have to be asked.
    /// - Returns: the first valid one.
    func find(cookies: String, in book: AccountBook, waiting: Bool) -> Finding {
        for value in Self.values(of: Self.cookie, in: cookies) {
            guard let (account, ticket) = read(value, book) else { continue }
            do throws(RootError) {
                let isOver = try ended.contains(
                    ticket.id, begun: Self.time(ticket.begun), now: Self.time(clock()),
                    waiting: waiting)
                if !isOver { return .found(account, ticket) }
            } catch {
                if error == .wouldBlock { return .mustWait }
                // If it is unknown whether the session was ended, it is not accepted.
                continue
            }
        }
        return .nobody
    }

    /// A renewed cookie for a session; nil while the current one is new enough.
    func renewed(_ ticket: Ticket, of account: AccountBook.Account) -> String? {
        let now = clock()
        guard now - ticket.renewed >= Self.renewal else { return nil }
        var ticket = ticket
        ticket.renewed = now
        return text(ticket, account)
    }

    /// Ends the sessions in a request's cookies; waits for the disk.
    ///
    /// - Returns: whether there was one.
    /// - Throws: what the disk reports; for this process they have ended all the same.
    @discardableResult
    func end(cookies: String, in book: AccountBook) throws(RootError) -> Bool {
        var found = false
        var failure: RootError?
        for value in Self.values(of: Self.cookie, in: cookies) {
            guard let (_, ticket) = read(value, book) else { continue }
            found = true
            let now = clock()
            // A copy of the cookie may have been renewed just now.
            let until = min(now + Self.idle + Self.skew, ticket.begun + Self.longest)
            do throws(RootError) {
                try ended.end(
                    ticket.id, begun: Self.time(ticket.begun), until: Self.time(until),
                    now: Self.time(now))
            } catch {
                // The others are ended all the same.
                failure = failure ?? error
            }
        }
        if let failure { throw failure }
        return found
    }

    /// The `Set-Cookie` that gives a session to a browser, or removes it.
    /// - Parameters:
    ///   - value: the cookie's value; nil to remove it.
    ///   - prefix: the server's path prefix.
    ///   - isSecure: whether the client came over TLS.
    /// - Returns: the field's value.
    static func setCookie(_ value: String?, prefix: String, isSecure: Bool) -> String {
        let age = value == nil ? 0 : longest / 1000
        return "\(cookie)=\(value ?? ""); Path=\(prefix)/; Max-Age=\(age); HttpOnly; SameSite=Strict"
            + (isSecure ? "; Secure" : "")
    }

    // MARK: - The cookie

    /// Hexadecimal: begun, renewed (8 bytes each), id (16), user, seal (32).
    private func text(_ ticket: Ticket, _ account: AccountBook.Account) -> String {
        let body = Self.bytes(ticket.begun) + Self.bytes(ticket.renewed) + ticket.id + Array(ticket.user.utf8)
        return Hex.text(body + secret.seal("session", body + account.password.fingerprint))
    }

    private func read(_ value: String, _ book: AccountBook) -> (AccountBook.Account, Ticket)? {
        guard value.utf8.count <= 2_048, let bytes = Hex.bytes(value.utf8),
            bytes.count > 16 + Self.idCount + Self.sealCount
        else { return nil }
        let body = Array(bytes.dropLast(Self.sealCount))
        let name = String(decoding: body[(16 + Self.idCount)...], as: UTF8.self)
        guard let account = book.account(named: name),
            ConstantTime.equal(
                secret.seal("session", body + account.password.fingerprint), Array(bytes.suffix(Self.sealCount)))
        else { return nil }
        let ticket = Ticket(
            user: name, id: Array(body[16..<(16 + Self.idCount)]), begun: Self.number(body[..<8]),
            renewed: Self.number(body[8..<16]))
        let now = clock()
        guard ticket.begun <= now + Self.skew, ticket.renewed <= now + Self.skew, now - ticket.renewed < Self.idle,
            now - ticket.begun < Self.longest
        else { return nil }
        return (account, ticket)
    }

    /// The values of one of our cookies; at most four, since other servers on this host or in its domain may set more
    /// with that name.
    /// - Parameters:
    ///   - name: the cookie's name.
    ///   - cookies: the `Cookie` field.
    /// - Returns: the values, in the browser's order.
    static func values(of name: String, in cookies: String) -> [String] {
        var values: [String] = []
        for pair in cookies.utf8.split(separator: UInt8(ascii: ";")) {
            let parts = Array(pair).split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, ASCII.trimmed(parts[0]).elementsEqual(name.utf8) else { continue }
            values.append(String(decoding: ASCII.trimmed(parts[1]), as: UTF8.self))
            if values.count == 4 { break }
        }
        return values
    }

    private static func time(_ milliseconds: Int64) -> Timestamp {
        Timestamp(seconds: milliseconds / 1000, nanoseconds: Int32(truncatingIfNeeded: milliseconds % 1000 * 1_000_000))
    }

    /// The number as eight bytes, big-endian.
    static func bytes(_ number: Int64) -> [UInt8] {
        stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: number >> Int64($0)) }
    }

    /// The inverse of ``bytes(_:)``.
    static func number(_ bytes: ArraySlice<UInt8>) -> Int64 {
        Int64(bitPattern: bytes.reduce(0) { $0 << 8 | UInt64($1) })
    }
}
