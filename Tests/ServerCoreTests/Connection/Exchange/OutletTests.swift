import Glibc
import Testing

@testable import ServerCore

@Suite("Lent outlet", .timeLimit(.minutes(1))) struct OutletTests {
    private let pool = PoolThreads(count: 1)
    private let sink = BodySink()

    /// A connection that has nothing to send, and the two ends of its socket.
    private func lend(_ work: (Int32, () -> Void) async throws -> Void) async throws {
        var pair: [Int32] = [-1, -1]
        try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &pair) == 0)
        let socket = pair[0]
        try await work(pair[1]) { sink.lend { Outlet(socket: socket, pool: pool, counters: Counters()) } }
        for descriptor in pair { close(descriptor) }
        await pool.shutDown()
    }

    /// The bytes in the socket.
    private func received(_ socket: Int32) -> [UInt8] {
        var bytes: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 65_536)
        while case let count = recv(socket, &part, part.count, Int32(MSG_DONTWAIT)), count > 0 {
            bytes += part[..<count]
        }
        return bytes
    }

    private func foundNothing() -> Bool {
        if case .nothing = sink.next() { true } else { false }
    }

    private func chunk(_ piece: [UInt8]) -> [UInt8] {
        Array((String(piece.count, radix: 16) + "\r\n").utf8) + piece + [13, 10]
    }

    private let large = [UInt8](repeating: 1, count: 20_000)

    @Test("a body of large pieces is sent past the connection as soon as that has nothing to send")
    func around() async throws {
        try await lend { socket, lend in
            try await sink.write(.bytes(large))
            lend()
            // It has not been taken yet.
            guard case .piece(.bytes(large)) = sink.next() else {
                _ = Issue.record("no piece")
                return
            }
            #expect(received(socket).isEmpty && foundNothing())
            lend()
            try await sink.write(.bytes([7, 8, 9]))
            #expect(received(socket) == chunk([7, 8, 9]))
            try await sink.write(.bytes(large))
            #expect(received(socket) == chunk(large) && foundNothing())
            sink.finish(isWhole: true)
            guard case .end(sentAround: 20_003) = sink.next() else {
                _ = Issue.record("no end")
                return
            }
        }
    }

    @Test("what the socket does not take goes through the connection, and so does what follows")
    func leftover() async throws {
        try await lend { socket, lend in
            try await sink.write(.bytes(large))
            _ = sink.next()
            #expect(foundNothing())
            lend()
            let huge = [UInt8](repeating: 2, count: 16 << 20)
            let writer = Task {
                try await sink.write(.bytes(huge))
                try await sink.write(.bytes([3]))
                sink.finish(isWhole: true)
            }
            var taken: [UInt8] = []
            var found = BodySink.Found.nothing
            while case .nothing = found {
                await Task.yield()
                found = sink.next()
            }
            guard case .leftover(let rest) = found else {
                _ = Issue.record("nothing is left")
                return
            }
            taken = received(socket)
            #expect(!taken.isEmpty && taken + rest == chunk(huge))
            lend()
            try await writer.value
            guard case .piece(.bytes([3])) = sink.next() else {
                _ = Issue.record("no piece")
                return
            }
            #expect(received(socket).isEmpty)
        }
    }

    @Test("small pieces go through the connection, and nothing is sent when that is gone")
    func notLent() async throws {
        try await lend { socket, lend in
            #expect(foundNothing())
            lend()
            try await sink.write(.bytes([1]))
            guard case .piece(.bytes([1])) = sink.next() else {
                _ = Issue.record("no piece")
                return
            }
            try await sink.write(.bytes(large))
            _ = sink.next()
            #expect(foundNothing())
            lend()
            sink.close()
            await #expect(throws: CancellationError.self) { try await sink.write(.bytes(large)) }
            #expect(received(socket).isEmpty)
        }
    }
}
