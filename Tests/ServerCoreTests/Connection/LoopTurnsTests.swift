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
            busy.value.takeTurn()
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

    @Test("What waits has its turn, before there is a pipe and with one")
    func takesTurns() async throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let loop = group.next()
        let turns = try await loop.submit { NIOLoopBound(LoopTurns(loop: loop), eventLoop: loop) }.get()
        for _ in 0..<3 {
            let order = try await loop.flatSubmit { takenTurns(turns.value, loop) }.get()
            #expect(order == [1, 2, 3])
        }
        try await group.shutdownGracefully()
    }

    private func takenTurns(_ turns: LoopTurns, _ loop: any EventLoop) -> EventLoopFuture<[Int]> {
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
