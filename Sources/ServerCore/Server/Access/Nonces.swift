import Synchronization

/// The nonces of Digest: made without remembering them, remembered once used, refused when used twice.
///
/// A nonce is its time of birth and a random number, sealed with the share's key: every process on the share takes it,
/// and remembers those that came to itself with a right answer. So one process takes each use of a nonce once; two
/// cannot see each other's, and a use that was overheard can be repeated once at another process while the nonce lives.
/// What was made before this process began counts as used. RFC 7616 §5.4, §5.5.
final class Nonces: Sendable {
    /// What a nonce and its count are worth.
    enum Verdict {
        case fresh
        /// Ours or not, it is over, or this count of it was used: the client shall try again with a new one.
        case stale
    }

    private struct Use {
        var born: Int64
        /// The highest count that came.
        var highest: UInt32
        /// The 64 counts up to it, the highest in bit 0: parallel connections of one client overtake each other.
        var seen: UInt64
    }

    private struct State {
        var uses: [[UInt8]: Use] = [:]
        /// Nonces born at or before this time that are not in the table may have been used: before this process began,
        /// or forgotten for want of room.
        var forgotten: Int64
    }

    /// Milliseconds that a nonce lives.
    static let lifetime: Int64 = 5 * 60_000
    private static let limit = 4_096
    /// Another host's clock may be ahead.
    private static let skew: Int64 = 60_000

    private let secret: ShareSecret
    private let state: Mutex<State>
    private let clock: @Sendable () -> Int64

    /// No nonces.
    /// - Parameters:
    ///   - secret: seals them.
    ///   - clock: milliseconds of the time of day.
    init(secret: ShareSecret, clock: @escaping @Sendable () -> Int64) {
        self.secret = secret
        self.clock = clock
        state = Mutex(State(forgotten: clock() - 1))
    }

    /// A new nonce: 64 hexadecimal digits.
    func make() -> String {
        var bytes: [UInt8] = []
        let time = clock()
        // A clock that was set back must not make all new nonces old ones.
        state.withLock { if $0.forgotten > time { $0.forgotten = time - 1 } }
        let now = UInt64(bitPattern: time)
        for shift in stride(from: 56, through: 0, by: -8) {
            bytes.append(UInt8(truncatingIfNeeded: now >> UInt64(shift)))
        }
        var generator = SystemRandomNumberGenerator()
        let random = generator.next()
        for shift in stride(from: 56, through: 0, by: -8) {
            bytes.append(UInt8(truncatingIfNeeded: random >> UInt64(shift)))
        }
        return Hex.text(bytes + seal(bytes))
    }

    /// Takes one use of a nonce, whose answer was right.
    func use(_ nonce: [UInt8], count: UInt32) -> Verdict {
        let now = clock()
        guard count > 0, let born = birth(of: nonce), born <= now + Self.skew, now - born < Self.lifetime else {
            return .stale
        }
        return state.withLock { state in
            guard var use = state.uses[nonce] else {
                guard born > state.forgotten else { return .stale }
                if state.uses.count >= Self.limit { Self.makeRoom(&state, now) }
                state.uses[nonce] = Use(born: born, highest: count, seen: 1)
                return .fresh
            }
            if count > use.highest {
                let step = count - use.highest
                use.seen = step < 64 ? use.seen << UInt64(step) | 1 : 1
                use.highest = count
            } else {
                let back = use.highest - count
                guard back < 64, use.seen & (1 << UInt64(back)) == 0 else { return .stale }
                use.seen |= 1 << UInt64(back)
            }
            state.uses[nonce] = use
            return .fresh
        }
    }

    /// When we made it; nil for a nonce that is not ours.
    private func birth(of nonce: [UInt8]) -> Int64? {
        guard nonce.count == 64 else { return nil }
        guard let bytes = Hex.bytes(nonce) else { return nil }
        guard ConstantTime.equal(seal(Array(bytes[..<16])), Array(bytes[16...])) else { return nil }
        return Int64(bitPattern: bytes[..<8].reduce(0) { $0 << 8 | UInt64($1) })
    }

    private func seal(_ bytes: [UInt8]) -> [UInt8] { Array(secret.seal("nonce", bytes).prefix(16)) }

    private static func makeRoom(_ state: inout State, _ now: Int64) {
        state.uses = state.uses.filter { now - $0.value.born < lifetime }
        guard state.uses.count >= limit else { return }
        let byAge = state.uses.sorted { $0.value.born < $1.value.born }
        for (nonce, use) in byAge.prefix(limit / 2) {
            state.uses[nonce] = nil
            state.forgotten = max(state.forgotten, use.born)
        }
    }
}
