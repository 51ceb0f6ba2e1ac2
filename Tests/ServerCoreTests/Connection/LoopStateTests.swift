import NIOEmbedded
import Testing

@testable import ServerCore

@Suite("The connections of one event loop")
struct LoopStateTests {
    @Test(
        "The longest idle connection of the same network makes way",
        arguments: [
            (["2001:db8::1", "2001:db8::2"], "2001:db8::3", 0),
            (["2001:db8:0:1::1", "2001:db8::2"], "2001:db8:0:0:ffff::3", 1),
            (["192.0.2.2", "192.0.2.1"], "::ffff:192.0.2.1", 1),
            (["192.0.2.1", "unix"], "unix", 1),
        ])
    func makesWay(peers: [String], newcomer: String, leaving: Int) {
        let state = LoopState(loop: EmbeddedEventLoop())
        let members = peers.enumerated().map { Visitor($1, idleSince: UInt32($0)) }
        for member in members { state.enter(member) }
        #expect(state.shedIdlest(for: Visitor(newcomer, idleSince: 0)))
        #expect(members.indices.filter { members[$0].isAborted } == [leaving])
    }

    @Test(
        "Nobody makes way for another network, and nobody who is busy",
        arguments: ["2001:db8:0:1::1", "192.0.2.1", "unix"])
    func stays(newcomer: String) {
        let state = LoopState(loop: EmbeddedEventLoop())
        let members = [Visitor("2001:db8::1", idleSince: 0), Visitor(newcomer, idleSince: nil)]
        for member in members { state.enter(member) }
        let new = Visitor(newcomer, idleSince: 0)
        state.enter(new)
        #expect(!state.shedIdlest(for: new))
        #expect((members + [new]).allSatisfy { !$0.isAborted })
    }

    @Test("That nobody of a network is idle is known for as long as a second, of all its addresses")
    func remembers() {
        let state = LoopState(loop: EmbeddedEventLoop())
        #expect(!state.shedIdlest(for: Visitor("2001:db8::1", idleSince: 0)))
        state.enter(Visitor("2001:db8::2", idleSince: 0))
        state.enter(Visitor("192.0.2.1", idleSince: 0))
        #expect(!state.shedIdlest(for: Visitor("2001:db8::3", idleSince: 0)))
        #expect(state.shedIdlest(for: Visitor("192.0.2.1", idleSince: 0)))
    }
}

/// A connection that only has an address and a time since when it is idle.
private final class Visitor: LoopMember {
    let network: NetworkAddress?
    let idleSince: UInt32?
    var memberIndex = -1
    private(set) var isAborted = false

    init(_ peer: String, idleSince: UInt32?) {
        network = NetworkAddress(peer)?.network
        self.idleSince = idleSince
    }

    func secondPassed(_ tick: UInt32) {}
    func drain() {}
    func abort() { isAborted = true }
}
