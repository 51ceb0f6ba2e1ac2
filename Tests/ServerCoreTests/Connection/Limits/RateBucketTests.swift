import Synchronization
import Testing

@testable import ServerCore

@Suite("Rates")
struct RateBucketTests {
    private final class Clock: Sendable {
        private let time = Mutex(Duration.zero)
        var read: @Sendable () -> Duration { { self.time.withLock { $0 } } }
        func advance(_ by: Duration) { time.withLock { $0 += by } }
    }

    @Test(
        "A second pays for a second's bytes, however small the pieces are, and however often it is asked",
        arguments: [(100, 1), (999, 10), (1_000_000, 701), (500_000, 1_000), (10_000_000, 10_007)])
    func exact(rate: Int64, piece: Int) throws {
        let clock = Clock()
        let bucket = try #require(RateBucket(rate, clock: clock.read))
        var sent: Int64 = 0
        var waited = Duration.zero
        while waited < .seconds(20) {
            let wait = bucket.spend(piece)
            sent += Int64(piece)
            // A little time passes even without a wait.
            clock.advance(max(wait, .microseconds(1)))
            waited += max(wait, .microseconds(1))
        }
        let expected = Double(rate) * 20
        #expect(abs(Double(sent) - expected) <= expected * 0.02 + Double(piece), "\(sent) of \(expected)")
    }

    @Test("Of what was not used, a tenth of a second's worth is saved, and no number overflows")
    func bounds() throws {
        let clock = Clock()
        let bucket = try #require(RateBucket(1_000, clock: clock.read))
        clock.advance(.seconds(3_600))
        #expect(bucket.spend(100) == .zero)
        #expect(bucket.spend(1_000) == .seconds(1))
        #expect(bucket.spend(.max) == .seconds(86_400))
        #expect(RateBucket(0) == nil && RateBucket(nil) == nil && RateBucket(-5) == nil)
        let fast = try #require(RateBucket(.max, clock: clock.read))
        #expect(fast.spend(.max) <= .seconds(10))
    }

    @Test(
        "However many share a rate, they keep to it together, and each gets as much as any other",
        arguments: [20_000, 1_000_000, 10_000_000] as [Int64], [2, 8, 12, 21, 300])
    func shared(rate: Int64, count: Int) throws {
        let clock = Clock()
        let bucket = try #require(RateBucket(rate, clock: clock.read))
        var turns = (0..<count).map { Duration.milliseconds($0) }
        var sent = Array(repeating: 0, count: count)
        for _ in 0..<(count * 50) {
            let next = try #require(turns.indices.min { turns[$0] < turns[$1] })
            clock.advance(turns[next] - clock.read())
            let piece = bucket.piece
            sent[next] += piece
            // Timers are late.
            turns[next] += bucket.spend(piece) + .microseconds(next * 7 % 300)
        }
        let total = sent.reduce(0, +)
        let most = Int(clock.read() * rate / .seconds(1))
        #expect(total < most + count * bucket.piece + Int(rate / 5), "\(total) of \(most)")
        #expect(total > most / 100 * 98, "\(total) of \(most)")
        let least = try #require(sent.min())
        #expect(least > total / count / 10 * 8, "\(least) of \(total)")
    }
}
