internal import Crypto
import Synchronization

/// Who has logged in through the log-in page, by a cookie that nobody can guess.
///
/// Kept in memory: a restart logs everybody out. The table holds hashes, so that a copy of it opens nothing.
final class Sessions: Sendable {
    private struct Session {
        var user: String
        /// Milliseconds of the clock.
        var expires: Int64
        /// However much it is used.
        var ends: Int64
    }

    /// The cookie's name.
    static let cookie = "shareserve-session"
    /// A session that is not used this long is over.
    static let idle: Int64 = 24 * 3_600_000
    /// A session is over this long after its log-in.
    static let longest: Int64 = 14 * 24 * 3_600_000
    private static let limit = 10_000

    private let table = Mutex<[[UInt8]: Session]>([:])
    private let clock: @Sendable () -> Int64

    /// No sessions.
    /// - Parameter clock: milliseconds that never go back.
    init(clock: @escaping @Sendable () -> Int64) {
        self.clock = clock
    }

    /// Begins a session.
    /// - Returns: the cookie's value.
    func begin(for user: String) -> String {
        var generator = SystemRandomNumberGenerator()
        let id = (0..<32).map { _ in UInt8.random(in: 0...255, using: &generator) }
        let now = clock()
        table.withLock { table in
            if table.count >= Self.limit { table = table.filter { $0.value.expires > now } }
            if table.count >= Self.limit, let oldest = table.min(by: { $0.value.expires < $1.value.expires }) {
                table[oldest.key] = nil
            }
            table[Self.key(Hex.text(id))] = Session(user: user, expires: now + Self.idle, ends: now + Self.longest)
        }
        return Hex.text(id)
    }

    /// The user whose session a request's cookies name; nil when none does.
    func user(cookies: String) -> String? {
        for value in Self.values(cookies) {
            let key = Self.key(value)
            let now = clock()
            let user = table.withLock { table -> String? in
                guard var session = table[key], session.expires > now else {
                    table[key] = nil
                    return nil
                }
                session.expires = min(now + Self.idle, session.ends)
                table[key] = session
                return session.user
            }
            if let user { return user }
        }
        return nil
    }

    /// Ends the sessions that a request's cookies name.
    func end(cookies: String) {
        for value in Self.values(cookies) {
            let key = Self.key(value)
            table.withLock { $0[key] = nil }
        }
    }

    /// Ends all sessions of users that are not in `users`.
    func keep(users: Set<String>) {
        table.withLock { $0 = $0.filter { users.contains($0.value.user) } }
    }

    /// The `Set-Cookie` that gives a session to a browser, or takes it away.
    /// - Parameters:
    ///   - value: the cookie's value; nil takes it away.
    ///   - prefix: the server's path prefix.
    ///   - isSecure: whether the client came over TLS.
    /// - Returns: the field's value.
    static func setCookie(_ value: String?, prefix: String, isSecure: Bool) -> String {
        let age = value == nil ? 0 : longest / 1000
        return "\(cookie)=\(value ?? ""); Path=\(prefix)/; Max-Age=\(age); HttpOnly; SameSite=Strict"
            + (isSecure ? "; Secure" : "")
    }

    /// The values of our cookie among all; at most four, since a neighbour may set more of the name.
    private static func values(_ cookies: String) -> [String] {
        var values: [String] = []
        for pair in cookies.utf8.split(separator: UInt8(ascii: ";")) {
            let parts = Array(pair).split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, ASCII.trimmed(parts[0]).elementsEqual(cookie.utf8) else { continue }
            values.append(String(decoding: ASCII.trimmed(parts[1]), as: UTF8.self))
            if values.count == 4 { break }
        }
        return values
    }

    private static func key(_ value: String) -> [UInt8] { Array(SHA256.hash(data: Array(value.utf8))) }
}
