internal import Crypto
import Synchronization

/// Basic credentials that were recently verified, so that crypt(3) is not paid for with every request.
///
/// Kept as keyed hashes, for ten minutes after their last use, at most 4,096; each is valid only under the rules under
/// which it was verified, so that a check that was running while the password changed has no effect.
final class VerifiedCredentials: Sendable {
    private struct Entry {
        var user: String
        var expires: Int64
    }

    private static let limit = 4_096
    private static let lifetime: Int64 = 10 * 60_000

    private let key = SymmetricKey(size: .bits256)
    private let entries = Mutex<[[UInt8]: Entry]>([:])
    private let clock: @Sendable () -> Int64

    init(clock: @escaping @Sendable () -> Int64) {
        self.clock = clock
    }

    /// The user of verified credentials.
    /// - Parameters:
    ///   - user: as the client sent it.
    ///   - password: as the client sent it.
    ///   - rules: the number of the rules in force.
    /// - Returns: the account's name; nil when they are not known to be right.
    func user(_ user: String, _ password: [UInt8], under rules: UInt64) -> String? {
        let key = seal(user, password, rules)
        let now = clock()
        return entries.withLock { entries in
            guard let entry = entries[key] else { return nil }
            guard entry.expires > now else {
                entries[key] = nil
                return nil
            }
            // Otherwise a user who works all day would now and then count as a newcomer, and be blocked by others'
            // guesses.
            if entry.expires - now < Self.lifetime / 2 { entries[key]?.expires = now + Self.lifetime }
            return entry.user
        }
    }

    func remember(_ user: String, _ password: [UInt8], account: String, under rules: UInt64) {
        let key = seal(user, password, rules)
        let now = clock()
        entries.withLock { entries in
            if entries.count >= Self.limit { entries = entries.filter { $0.value.expires > now } }
            if entries.count >= Self.limit { entries.removeAll() }
            entries[key] = Entry(user: account, expires: now + Self.lifetime)
        }
    }

    /// Removes credentials that were found wrong.
    func forget(_ user: String, _ password: [UInt8], under rules: UInt64) {
        let key = seal(user, password, rules)
        entries.withLock { $0[key] = nil }
    }

    func forgetAll() { entries.withLock { $0.removeAll() } }

    private func seal(_ user: String, _ password: [UInt8], _ rules: UInt64) -> [UInt8] {
        let text = Array("\(rules) \(user)".utf8) + [0] + password
        return Array(HMAC<SHA256>.authenticationCode(for: text, using: key))
    }
}
