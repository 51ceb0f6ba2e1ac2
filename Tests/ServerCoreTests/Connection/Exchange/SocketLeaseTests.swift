import Glibc
import Testing

@testable import ServerCore

@Suite("Lent socket", .timeLimit(.minutes(1))) struct SocketLeaseTests {
    /// A lease whose task sleeps until this many bytes have arrived, and that task.
    private func sleeping(_ wanted: Int64) async throws -> (SocketLease, Task<[UInt8], any Error>) {
        var pair: [Int32] = [-1, -1]
        try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &pair) == 0)
        defer { for descriptor in pair { close(descriptor) } }
        let lease = try #require(SocketLease(socket: pair[0], loopReads: false))
        let (asked, isAsked) = AsyncStream<Void>.makeStream()
        let task = Task {
            try await lease.wait(for: wanted) { isAsked.finish() }
            return lease.takeMail()
        }
        for await _ in asked {}
        return (lease, task)
    }

    @Test("a body that comes byte by byte wakes its task for a page, and for its end")
    func gathers() async throws {
        for (wanted, count) in [(Int64.max, 4_096), (10_000, 4_096), (100, 100)] {
            let (lease, task) = try await sleeping(wanted)
            for _ in 1..<count { #expect(lease.deliver([7])) }
            #expect(!lease.deliver([8]))
            #expect(try await task.value == [UInt8](repeating: 7, count: count - 1) + [8])
        }
    }

    @Test("what may be the end of a chunked body is told at once, in whatever pieces it comes")
    func endOfChunks() async throws {
        let (lease, task) = try await sleeping(.max)
        for byte in "1\r\na\r\n0\r\n\r".utf8 { #expect(lease.deliver([byte])) }
        #expect(!lease.deliver([10]))
        #expect(try await task.value == Array("1\r\na\r\n0\r\n\r\n".utf8))
    }

    @Test("what was gathered of chunks is looked at every second, of a counted body when it is a page")
    func everySecond() async throws {
        let (chunked, task) = try await sleeping(.max)
        #expect(chunked.deliver(Array("zz\r\n".utf8)))
        chunked.secondPassed()
        #expect(try await task.value == Array("zz\r\n".utf8))
        let (counted, other) = try await sleeping(100)
        #expect(counted.deliver([1]))
        counted.secondPassed()
        #expect(counted.deliver([2]))
        #expect(!counted.deliver([UInt8](repeating: 3, count: 98)))
        #expect(try await other.value.count == 100)
    }

    @Test("what was gathered is not lost with the connection")
    func endOfConnection() async throws {
        let (lease, task) = try await sleeping(100)
        #expect(lease.deliver([1, 2]) && lease.deliver([3]))
        lease.fail(HTTPError(.badRequest, "gone"))
        #expect(try await task.value == [1, 2, 3])
    }
}
