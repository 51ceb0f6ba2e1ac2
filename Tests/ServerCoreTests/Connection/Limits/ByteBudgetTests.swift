import Testing

@testable import ServerCore

@Suite("Byte budget")
struct ByteBudgetTests {
    @Test("All together is bounded, the first pages of each are free, and what is given back can be taken again")
    func bounded() {
        let budget = ByteBudget(10_000)
        #expect(budget.change(from: 0, to: 4_096) && budget.remaining == 10_000)
        #expect(budget.change(from: 4_096, to: 14_000) && budget.remaining == 96)
        #expect(!budget.change(from: 0, to: 5_000) && budget.remaining == 96)
        #expect(budget.change(from: 0, to: 4_000))
        #expect(!budget.change(from: 14_000, to: 15_000) && budget.remaining == 96)
        #expect(budget.change(from: 14_000, to: 0) && budget.remaining == 10_000)
    }

    @Test("A body that is collected gives its room back, also when it is too large or breaks off")
    func collected() async throws {
        let budget = ByteBudget(100_000)
        func body(_ count: Int, _ end: Result<Void, HTTPError> = .success(())) -> RequestBody {
            let pipe = BodyPipe(upstream: NoUpstream(), memory: budget)
            pipe.push([UInt8](repeating: 7, count: count))
            pipe.finish(end)
            return RequestBody(length: nil, pipe: pipe)
        }
        #expect(try await body(50_000).collect(upTo: 60_000).count == 50_000)
        await #expect(throws: HTTPError.self) { try await body(50_000).collect(upTo: 40_000) }
        await #expect(throws: HTTPError.self) {
            try await body(50_000, .failure(HTTPError(.badRequest, "broken"))).collect(upTo: 60_000)
        }
        let refused = await #expect(throws: HTTPError.self) { try await body(150_000).collect(upTo: 200_000) }
        #expect(refused?.status == .serviceUnavailable)
        let reserved = body(90_000)
        #expect(reserved.reserve(90_000) && budget.remaining == 100_000 - 90_000 + ByteBudget.uncounted)
        #expect(!body(90_000).reserve(90_000))
        #expect(try await reserved.collect(upTo: 90_000, reserved: 90_000).count == 90_000)
        #expect(budget.remaining == 100_000)
    }
}

private final class NoUpstream: BodyPipe.Upstream {
    func bodyWanted() {}
}
