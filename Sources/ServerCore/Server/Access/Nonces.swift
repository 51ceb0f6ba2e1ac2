import Synchronization

/// The nonces of Digest: created without storing them, remembered once used, refused when reused.
///
/// A nonce is its creation time and a random number, sealed with the share's key: every process on the share accepts
/// it, and remembers those that it has itself received with a right response. So one process accepts each use of a
/// nonce once; processes can't see each other's, and a use that was overheard can be repeated once at another process
/// before the nonce expires. Nonces from before this process started count as used. RFC 7616 §5.4, §5.5.
final class Nonces: Sendable {
    /// The result for a nonce and its count.
    enum Verdict {
        case fresh
        /// The nonce is expired or foreign, or this count of it was used: the client must try again with a new one.
        case stale
    }

    private struct Use {
        var born: Int64
        /// The highest count received.
        var highest: UInt32
        /// The 64 counts up to ``highest``, which is bit 0: parallel connections of one client overtake each other.
        var seen: UInt64
    }

    private struct State {
        var uses: [[UInt8]: Use] = [:]
        /// Nonces created at or before this time that are not in the table may have been used: before this process
        /// started, or they were removed for lack of space.
        var forgotten: Int64
    }

    /// The lifetime of a nonce in milliseconds.
    static let lifetime: Int64 = 5 * 60_000
    private static let limit = 4_096
    /// By how much another host's clock may be ahead.
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
        // If the clock was set back, new nonces must not count as old ones.
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

    /// Records one use of a nonce whose response was right.
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

    /// When the nonce was created; nil for one that is not ours.
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
