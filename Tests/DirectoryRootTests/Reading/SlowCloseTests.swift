import Dispatch
import Synchronization
import Testing

@testable import DirectoryRoot

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

#if os(Linux)
    @Suite("Slow to close") struct SlowCloseTests {
        @Test("Who opens more of what is slow to close waits a while, and not on all threads") func bounded() throws {
            let device = UInt64.max
            let listener = try listener()
            // Each takes a second to close, and four are closed at once: only the 32 that may be waiting are left after
            // nine seconds, which is longer than anybody waits.
            let peers = try (0..<72).map { _ in
                let (end, peer) = try fullConnection(to: listener)
                SlowClose.close(end, on: device, isFar: false)
                return peer
            }
            defer { for peer in peers + [listener] { close(peer) } }
            let waits = Mutex<[Duration]>([])
            // Not on the threads that all tests share, where they would start too late.
            let threads = DispatchGroup()
            for number in 0..<6 {
                DispatchQueue(label: "\(number)").async(group: threads) {
                    let begun = ContinuousClock.now
                    let isLetIn = (try? SlowClose.makeRoom(on: device)) != nil
                    let wait = ContinuousClock.now - begun
                    if isLetIn { waits.withLock { $0.append(wait) } }
                }
            }
            threads.wait()
            #expect(waits.withLock { $0.count { $0 < .seconds(2) } } == 2)
            #expect(waits.withLock { $0.count { $0 >= .seconds(3) } } == 4)
        }

        private func listener() throws -> Int32 {
            let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            try set(listener, SO_RCVBUF, Int32(4_096))
            try #require(listen(listener, 128) == 0)
            return listener
        }

        /// One end of a connection whose other end reads nothing: closing it waits a second for the sent bytes.
        private func fullConnection(to listener: Int32) throws -> (end: Int32, peer: Int32) {
            var address = sockaddr_in()
            var size = socklen_t(MemoryLayout<sockaddr_in>.size)
            // If another test's child process has it open too, closing it does not wait.
            let end = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
            try set(end, SO_SNDBUF, Int32(4_096))
            try withUnsafeMutablePointer(to: &address) { pointer in
                try pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                    try #require(getsockname(listener, address, &size) == 0)
                    try #require(connect(end, address, size) == 0)
                }
            }
            let peer = accept(listener, nil, nil)
            try #require(peer >= 0)
            let bytes = [UInt8](repeating: 0, count: 65_536)
            while send(end, bytes, bytes.count, Int32(MSG_DONTWAIT)) > 0 {}
            try set(end, SO_LINGER, linger(l_onoff: 1, l_linger: 1))
            return (end, peer)
        }

        private func set<Value: BitwiseCopyable>(_ socket: Int32, _ option: Int32, _ value: Value) throws {
            var value = value
            try #require(setsockopt(socket, SOL_SOCKET, option, &value, socklen_t(MemoryLayout<Value>.size)) == 0)
        }
    }
#endif
