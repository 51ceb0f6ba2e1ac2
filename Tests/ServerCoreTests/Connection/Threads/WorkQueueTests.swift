import Synchronization
import Testing

@testable import ServerCore

@Suite("A queue for slow work")
struct WorkQueueTests {
    @Test("A few pieces run at a time, the others wait without a thread, and too many are turned away")
    func queue() async throws {
        let pool = PoolThreads(count: 8)
        let queue = WorkQueue(pool, atOnce: 2, longest: 5, full: "full")
        let running = Atomic(0)
        let most = Atomic(0)
        let done = Atomic(0)
        let gate = Gateway()
        var taken = 0
        for _ in 0..<10 {
            let isTaken = queue.submit {
                let count = running.add(1, ordering: .relaxed).newValue
                most.max(count, ordering: .relaxed)
                gate.pass()
                running.subtract(1, ordering: .relaxed)
                done.add(1, ordering: .relaxed)
            }
            if isTaken { taken += 1 }
        }
        #expect(taken == 7)
        // The other threads are free.
        #expect(try await pool.run { 1 } == 1)
        gate.open()
        while done.load(ordering: .relaxed) < 7 { try await Task.sleep(for: .milliseconds(1)) }
        #expect(most.load(ordering: .relaxed) <= 2)
        await pool.shutDown()
    }
}

/// Holds threads until it is opened.
private final class Gateway: Sendable {
    private let isOpen = Atomic(false)
    func open() { isOpen.store(true, ordering: .relaxed) }
    func pass() { while !isOpen.load(ordering: .relaxed) {} }
}
