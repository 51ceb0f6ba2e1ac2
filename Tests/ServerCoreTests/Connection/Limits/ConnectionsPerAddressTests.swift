import Testing

@testable import ServerCore

@Suite("Connections from one address")
struct ConnectionsPerAddressTests {
    @Test("A network of 64 bits is one address, and IPv4 is the same in both spellings")
    func networks() {
        let counts = ConnectionsPerAddress(most: 2)
        #expect(counts.enter("2001:db8::1") && counts.enter("2001:db8::2") && !counts.enter("2001:db8:0:0:ffff::3"))
        #expect(counts.enter("2001:db8:0:1::1"))
        #expect(counts.enter("192.0.2.1") && counts.enter("::ffff:192.0.2.1") && !counts.enter("192.0.2.1"))
        #expect(counts.enter("192.0.2.2"))
        #expect(counts.enter("unix") && counts.enter("unix") && !counts.enter("unix"))
    }

    @Test("One address leaves others a quarter, unless few are taken at all or a bound was asked for")
    func chosen() {
        func taken(_ limits: Limits, of connections: Int) -> Int {
            let counts = ConnectionsPerAddress(limits, of: connections)
            return (0..<connections).count { _ in counts.enter("192.0.2.1") }
        }
        var limits = Limits()
        #expect(taken(limits, of: 16_384) == 12_288)
        #expect(taken(limits, of: 1_023) == 1_023)
        limits.connectionsPerAddress = 5
        #expect(taken(limits, of: 16_384) == 5)
    }

    @Test("Who was refused is counted until they go")
    func refused() {
        let counts = ConnectionsPerAddress(most: 1)
        #expect(counts.enter("192.0.2.1") && !counts.enter("192.0.2.1"))
        counts.leave("192.0.2.1")
        #expect(!counts.enter("192.0.2.1"))
        counts.leave("192.0.2.1")
        counts.leave("192.0.2.1")
        #expect(counts.enter("192.0.2.1"))
        #expect((0..<9).allSatisfy { _ in ConnectionsPerAddress(most: 0).enter("192.0.2.1") })
    }
}

extension ConnectionsPerAddress {
    fileprivate func enter(_ address: String) -> Bool { enter(NetworkAddress(address)?.network) }

    fileprivate func leave(_ address: String) { leave(NetworkAddress(address)?.network) }
}
