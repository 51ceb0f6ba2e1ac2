import Synchronization

/// Slows down password guessing, by address and by user.
///
/// A few wrong attempts are free; after those, each doubles the wait, up to a minute. An address's own failures block
/// that address; a user's failures from all addresses block further guesses at that user only after many more, and
/// never from an address where that user has logged in before.
final class GuessThrottle: Sendable {
    private struct Entry {
        var failures = 0
        /// In milliseconds of the clock.
        var last: Int64 = 0
        var blockedUntil: Int64 = 0
        /// The last guess that was told from others.
        var guess: Int?
    }

    private struct Key: Hashable {
        var address: NetworkAddress?
        var user: String?
    }

    static let freePerAddress = 8
    static let freePerUser = 50
    /// After this time without a failure, an entry is forgotten.
    static let memory: Int64 = 15 * 60_000
    static let longestWait: Int64 = 60_000
    private static let limit = 8_192

    private struct State {
        var entries: [Key: Entry] = [:]
        /// The addresses where users have logged in: an entry requires knowing a password.
        var homes: [Key: Home] = [:]
    }

    private struct Home {
        /// The last time.
        var last: Int64
        /// When the address's own failures were last forgiven for it.
        var forgave: Int64
    }

    /// The shortest time, in milliseconds, between two times that others' guesses from the same address are forgiven
    /// for a user: with Digest, a user logs in with each request.
    static let forgivesEach: Int64 = 10 * 60_000

    /// How long an address counts as one where a user has logged in.
    static let homeMemory: Int64 = 24 * 3_600_000

    private let state = Mutex(State())
    private let clock: @Sendable () -> Int64

    /// A throttle without any records.
    /// - Parameter clock: milliseconds that never go back.
    init(clock: @escaping @Sendable () -> Int64) {
        self.clock = clock
    }

    /// How long an attempt must wait.
    /// - Parameters:
    ///   - address: of the client; nil if it has none.
    ///   - user: the name sent by the client, limited by the size of the head; nil if the guess is at no user.
    /// - Returns: whole seconds, at least one; nil when it may proceed.
    func wait(address: NetworkAddress?, user: String?) -> Int64? {
        let now = clock()
        let until = state.withLock { state in
            Self.keys(address, user).filter { key in
                guard let user = key.user, let home = state.homes[Self.home(address, user)] else { return true }
                return now - home.last >= Self.homeMemory
            }
            .map { state.entries[$0]?.blockedUntil ?? 0 }.max() ?? 0
        }
        return until > now ? (until - now + 999) / 1000 : nil
    }

    /// Records a wrong password or, without a user, another wrong guess.
    /// - Parameters:
    ///   - address: of the client; nil if it has none.
    ///   - user: as in ``wait(address:user:)``.
    ///   - guess: tells what was guessed from other guesses; the address's last one once more is no other, and is not
    ///     counted: whoever has the page of a link that was ended asks for all its parts. nil is counted each time.
    func fail(address: NetworkAddress?, user: String?, guess: Int? = nil) {
        let now = clock()
        state.withLock { state in
            for key in Self.keys(address, user) {
                var entry = state.entries[key] ?? Entry()
                if now - entry.last > Self.memory { entry = Entry() }
                if let guess, guess == entry.guess { continue }
                entry.guess = guess
                entry.failures = min(entry.failures + 1, 1_000_000)
                entry.last = now
                let excess = entry.failures - (key.user == nil ? Self.freePerAddress : Self.freePerUser)
                if excess >= 0 { entry.blockedUntil = now + min(Self.longestWait, 1000 << Int64(min(excess, 10))) }
                if state.entries[key] == nil, state.entries.count >= Self.limit { Self.makeRoom(&state.entries, now) }
                state.entries[key] = entry
            }
        }
    }

    /// Records a right password: earlier failures of this address are forgiven, unless that was done for this user less
    /// than ``forgivesEach`` ago, and the address is remembered for the user.
    func succeed(address: NetworkAddress?, user: String) {
        guard let address else { return }
        let now = clock()
        let home = Self.home(address, user)
        state.withLock { state in
            var forgave = state.homes[home]?.forgave ?? .min
            // Usually there is nothing to forgive.
            if !state.entries.isEmpty, forgave == .min || now - forgave >= Self.forgivesEach,
                state.entries.removeValue(forKey: Key(address: address.network, user: nil)) != nil
            {
                forgave = now
            }
            if state.homes[home] == nil, state.homes.count >= Self.limit {
                state.homes = state.homes.filter { now - $0.value.last < Self.homeMemory }
                if state.homes.count >= Self.limit { state.homes.removeAll() }
            }
            state.homes[home] = Home(last: now, forgave: forgave)
        }
    }

    private static func home(_ address: NetworkAddress?, _ user: String) -> Key {
        Key(address: address?.network, user: bounded(user))
    }

    private static func bounded(_ user: String) -> String { String(decoding: user.utf8.prefix(128), as: UTF8.self) }

    private static func keys(_ address: NetworkAddress?, _ user: String?) -> [Key] {
        var keys: [Key] = []
        if let address { keys.append(Key(address: address.network, user: nil)) }
        if let user { keys.append(Key(address: nil, user: bounded(user))) }
        return keys
    }

    /// Forgets old entries; if there are none, the half with the fewest failures.
    private static func makeRoom(_ entries: inout [Key: Entry], _ now: Int64) {
        entries = entries.filter { now - $0.value.last <= memory }
        guard entries.count >= limit else { return }
        let kept = entries.sorted { ($0.value.failures, $0.value.last) > ($1.value.failures, $1.value.last) }.prefix(
            limit / 2)
        entries = Dictionary(uniqueKeysWithValues: kept.map { ($0.key, $0.value) })
    }
}
