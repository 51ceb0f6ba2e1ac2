import Synchronization
import Testing

@testable import ServerCore

@Suite struct PoolThreadsTests {
    /// Runs work on `pool`: by a call, as a task that prefers it, and without waiting.
    private func work(on pool: PoolThreads) async {
        let done = Atomic(0)
        _ = try? await pool.run { done.wrappingAdd(1, ordering: .relaxed) }
        await Task(executorPreference: pool) { _ = done.wrappingAdd(1, ordering: .relaxed) }.value
        await pool.giveWay()
        #expect(done.load(ordering: .relaxed) == 2)
        #expect(!pool.isBusy)
    }

    @Test func threadsBeginWithTheFirstWork() async {
        let pool = PoolThreads(count: 2)
        await work(on: pool)
        await pool.shutDown()
    }

    @Test func manyMayBringTheFirstWorkAtOnce() async {
        for _ in 0..<50 {
            let pool = PoolThreads(count: 2)
            let sum = await withTaskGroup(of: Int.self) { group in
                for number in 0..<8 { group.addTask { (try? await pool.run { number }) ?? -100 } }
                return await group.reduce(0, +)
            }
            #expect(sum == 28)
            await pool.shutDown()
        }
    }

    /// A task that never continued could never be awaited.
    @Test(arguments: [false, true]) func tasksGoOnAfterTheEnd(hasBegun: Bool) async {
        let pool = PoolThreads(count: 1)
        if hasBegun { await work(on: pool) }
        await pool.shutDown()
        #expect(await Task(executorPreference: pool) { true }.value)
        await pool.giveWay()
        await #expect(throws: (any Error).self) { try await pool.run {} }
    }

    @Test func endingTwiceIsEndingOnce() async {
        let pool = PoolThreads(count: 1)
        await pool.shutDown()
        await pool.shutDown()
    }
}
