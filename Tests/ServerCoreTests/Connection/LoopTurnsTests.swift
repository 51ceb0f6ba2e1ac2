import NIOCore
import NIOPosix
import Testing

@testable import ServerCore

@Suite("Turns of an event loop")
struct LoopTurnsTests {
    @Test("A connection that always has more to send lets the loop look at the others", .timeLimit(.minutes(1)))
    func looks() async throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let server = try await ServerBootstrap(group: group).bind(host: "127.0.0.1", port: 0).get()
        let address = try #require(server.localAddress)
        let loop = server.eventLoop
        let turns = try await loop.submit {
            let busy = NIOLoopBound(Busy(LoopTurns(loop: loop)), eventLoop: loop)
            busy.value.turns.open()
            // Which opens its pipe in tasks of its own.
            loop.execute { busy.value.takeTurn() }
            return busy
        }.get()
        // These have to come through a socket of the loop that is busy.
        let client = try await ClientBootstrap(group: group).connect(to: address).get()
        try await client.close()
        let taken = try await loop.submit {
            turns.value.isOver = true
            return turns.value.taken
        }.get()
        #expect(taken > 0)
        try await group.shutdownGracefully()
    }

    @Test("What waits has its turn, with a pipe and without", arguments: [false, true])
    func takesTurns(isOpen: Bool) async throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let loop = group.next()
        let order = try await loop.flatSubmit {
            let turns = LoopTurns(loop: loop)
            if isOpen { turns.open() }
            let over = loop.makePromise(of: [Int].self)
            var order: [Int] = []
            turns.wait { order.append(1) }
            turns.wait {
                turns.wait {
                    order.append(3)
                    over.succeed(order)
                }
                order.append(2)
            }
            return over.futureResult
        }.get()
        #expect(order == [1, 2, 3])
        try await group.shutdownGracefully()
    }
}

/// Takes turn after turn.
private final class Busy {
    let turns: LoopTurns
    var taken = 0
    var isOver = false

    init(_ turns: LoopTurns) {
        self.turns = turns
    }

    func takeTurn() {
        guard !isOver else { return }
        taken += 1
        turns.wait { self.takeTurn() }
    }
}
