import NIOCore
import Testing

@testable import ServerCore

@Suite("Window of a request's body") struct BodyWindowTests {
    private let piece = 16 * 1_024

    /// Takes `bytes` bytes in pieces, each of which comes after `pause` and is read at once.
    /// - Returns: the bytes by which the window was opened in all.
    private func take(
        _ bytes: Int, of whole: Int64? = nil, isCrowded: Bool = false, each pause: TimeAmount = .zero,
        _ window: inout BodyWindow, _ budget: BudgetShare
    ) -> Int {
        var opened = 0
        var now = NIODeadline.uptimeNanoseconds(1)
        for end in stride(from: piece, through: bytes, by: piece) {
            window.take(piece, padding: 0)
            now = now + pause
            opened += window.increment(
                waiting: 0, rest: whole.map { $0 - Int64(end) }, isCrowded: isCrowded, budget, now: now)
        }
        return opened
    }

    @Test("Opens for nothing while nothing is read") func unread() {
        var window = BodyWindow()
        let budget = BudgetShare(of: ByteBudget(8 << 20))
        window.take(BodyWindow.least, padding: 0)
        #expect(window.increment(waiting: BodyWindow.least, rest: nil, isCrowded: true, budget) == 0)
        #expect(budget.remaining == 8 << 20)
        #expect(window.increment(waiting: 0, rest: nil, isCrowded: true, budget) == 32 * 1_024)
    }

    @Test("Takes any number for what will come", arguments: [Int64.min, -1, 0, .max]) func announced(rest: Int64) {
        var window = BodyWindow()
        let budget = BudgetShare(of: ByteBudget(8 << 20))
        window.take(BodyWindow.least, padding: 0)
        let expected = rest > 0 ? 256 * 1_024 : 512
        #expect(window.increment(waiting: 0, rest: rest, isCrowded: false, budget) == expected)
        window.close(budget)
        #expect(budget.remaining == 8 << 20)
    }

    @Test("Opens for no more than will come") func short() {
        var window = BodyWindow()
        let budget = BudgetShare(of: ByteBudget(8 << 20))
        #expect(take(60 * 1_024, of: 60 * 1_024, &window, budget) == 0)
        window = BodyWindow()
        let more = take(96 * 1_024, of: 96 * 1_024, &window, budget) - (96 * 1_024 - BodyWindow.least)
        // The last frame may be padded.
        #expect(more >= 256 && more <= 512)
        window.close(budget)
        #expect(budget.remaining == 8 << 20)
    }

    @Test("Opens for the padding of frames, of which nobody knows how much there will be") func padded() {
        var window = BodyWindow()
        let budget = BudgetShare(of: ByteBudget(8 << 20))
        var open = BodyWindow.least
        for end in stride(from: 16_000, through: 64_000, by: 16_000) {
            window.take(16_000, padding: 256)
            open += window.increment(waiting: 0, rest: Int64(65_000 - end), isCrowded: false, budget) - 16_256
        }
        #expect(open >= 1_000 + 256)
        window.close(budget)
        #expect(budget.remaining == 8 << 20)
    }

    @Test("Opens as the body grows, further for a client that is far, and gives back what was read", arguments: [0, 1])
    func long(milliseconds: Int64) {
        var window = BodyWindow()
        let budget = BudgetShare(of: ByteBudget(32 << 20))
        let pause = TimeAmount.milliseconds(milliseconds)
        let ahead = take(32 << 20, each: pause, &window, budget) - (32 << 20)
        // Less at most one step.
        let most = milliseconds == 0 ? 2 << 20 : 8 << 20
        #expect(ahead > most - (1 << 20) && ahead <= most)
        #expect(take(8 << 20, each: pause, &window, budget) == 8 << 20)
        window.close(budget)
        #expect(budget.remaining == 32 << 20)
    }

    @Test("Opens no further for a client of whose bytes many wait") func slowReader() {
        var window = BodyWindow()
        let budget = BudgetShare(of: ByteBudget(32 << 20))
        var now = NIODeadline.uptimeNanoseconds(1)
        var ahead = 0
        for _ in 0..<4_096 {
            window.take(piece, padding: 0)
            now = now + .milliseconds(1)
            ahead += window.increment(waiting: 3 << 19, rest: nil, isCrowded: false, budget, now: now) - piece
        }
        #expect(ahead <= 1 << 20)
        window.close(budget)
    }

    @Test("Leaves as much as it takes beyond two megabytes, and something for those who come next") func shared() {
        let whole = ByteBudget(16 << 20)
        var windows = (0..<4).map { _ in (window: BodyWindow(), budget: BudgetShare(of: whole)) }
        let ahead = windows.indices.map { index in
            take(64 << 20, each: .milliseconds(1), &windows[index].window, windows[index].budget) - (64 << 20)
        }
        #expect(ahead.map { ($0 + (1 << 16)) >> 18 } == [32, 16, 1, 1], "\(ahead)")
        for index in windows.indices { windows[index].window.close(windows[index].budget) }
        #expect(whole.remaining == 16 << 20)
    }

    @Test("Leaves a third to other connections, however many streams one has") func greedy() {
        let whole = ByteBudget(16 << 20)
        let (greedy, other) = (BudgetShare(of: whole), BudgetShare(of: whole))
        var windows = (0..<100).map { _ in BodyWindow() }
        for index in windows.indices { _ = take(100 << 10, &windows[index], greedy) }
        #expect(whole.remaining >= (16 << 20) / 3)
        var window = BodyWindow()
        let ahead = take(64 << 20, each: .milliseconds(1), &window, other) - (64 << 20)
        #expect(ahead > 1 << 19)
        for index in windows.indices { windows[index].close(greedy) }
        window.close(other)
        #expect(whole.remaining == 16 << 20)
    }

    @Test("Opens no wider than there is memory for, and when some comes back") func crowded() {
        let whole = ByteBudget(320 * 1_024)
        let budgets = [BudgetShare(of: whole), BudgetShare(of: whole)]
        var (first, second) = (BodyWindow(), BodyWindow())
        #expect(take(4 << 20, &first, budgets[0]) > 4 << 20)
        #expect(take(4 << 20, &second, budgets[1]) <= 4 << 20)
        first.close(budgets[0])
        #expect(take(1 << 20, &second, budgets[1]) > 1 << 20)
        second.close(budgets[1])
        #expect(whole.remaining == 320 * 1_024)
    }

    @Test("Goes on with little where much waits, and never stays below a frame") func scarce() {
        var window = BodyWindow()
        let budget = BudgetShare(of: ByteBudget(8 << 20))
        var open = BodyWindow.least
        for _ in 0..<1_000 {
            #expect(open >= piece)
            window.take(piece, padding: 0)
            open += window.increment(waiting: 0, rest: nil, isCrowded: true, budget) - piece
            #expect(open <= BodyWindow.least)
        }
        #expect(open <= 32 * 1_024 && budget.remaining == 8 << 20)
    }
}
