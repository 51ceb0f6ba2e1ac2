import DirectoryRoot
import Synchronization
import TestSupport
import Testing

@testable import ServerCore

@Suite("Log-ins that several processes share")
struct SessionTests {
    let directory: TemporaryDirectory
    let clock = TestClock()

    init() throws { directory = try TemporaryDirectory() }

    /// One process on the share.
    private func process(_ rules: String..., policy: RootPolicy = RootPolicy()) throws -> Gate {
        var access = AccessRules()
        for rule in rules { try access.add(rule: rule) }
        let clock = clock
        let root = try DirectoryRoot(
            path: directory.path, policy: policy,
            clock: RootClock(
                wall: { Timestamp(seconds: clock.read() / 1000) }, uptime: { .milliseconds(clock.read()) }))
        return Gate(access, root: root, clock: clock.read, wall: clock.read)
    }

    private func view(_ lines: [(String, String)], _ target: String = "/") throws -> RequestHeadView {
        let head = RequestHead()
        head.compose(method: "GET", target: target, lines: [("Host", "localhost")] + lines)
        return RequestHeadView(
            head: head, method: .get, target: try RequestTarget(head.target), authority: "localhost", scheme: "http",
            peer: "192.0.2.7")
    }

    /// The user that a request is taken for.
    private func user(_ gate: Gate, _ cookie: String) throws -> String? {
        var admission = gate.admit(try view([("Cookie", "a=b; shareserve-session=\(cookie)")]))
        while true {
            switch admission {
            case .check(let question), .verify(let question): admission = try question()
            case .allow(let share, _, _), .count(let share, _, _, _): return share.user
            case .refuse: return nil
            }
        }
    }

    private func begin(_ gate: Gate) throws -> String {
        gate.sessions.begin(for: try #require(gate.current.book.account(named: "anna")))
    }

    private func end(_ gate: Gate, _ cookie: String) throws {
        try gate.sessions.end(cookies: "shareserve-session=\(cookie)", in: gate.current.book)
    }

    @Test("A log-in at one process is one at all, and after a restart")
    func shared() throws {
        let one = try process("anna:x@/:rw")
        let cookie = try begin(one)
        #expect(try user(one, cookie) == "anna")
        #expect(try user(process("anna:x@/:rw"), cookie) == "anna")
    }

    @Test("A log-out at one process is one at all within a second")
    func loggedOut() throws {
        let (one, other) = (try process("anna:x@/:rw"), try process("anna:x@/:rw"))
        let (cookie, second) = (try begin(one), try begin(one))
        #expect(try user(other, cookie) == "anna")
        try end(one, cookie)
        #expect(try user(one, cookie) == nil)
        clock.advance(1000)
        #expect(try user(other, cookie) == nil)
        #expect(try user(process("anna:x@/:rw"), cookie) == nil)
        #expect(try user(other, second) == "anna")
    }

    @Test("A session ends when it is not used, and after its longest time")
    func expiry() throws {
        let gate = try process("anna:x@/:rw")
        let unused = try begin(gate)
        clock.advance(Sessions.idle)
        #expect(try user(gate, unused) == nil)
        var cookie = try begin(gate)
        for _ in 0..<(14 * 24) {
            #expect(try user(gate, cookie) == "anna")
            var response = Response(.ok, fields: ["Cache-Control": "no-store"])
            gate.addFields(to: &response, for: try view([("Cookie", "shareserve-session=\(cookie)")]))
            clock.advance(Sessions.renewal)
            guard let set = response.fields["Set-Cookie"] else { continue }
            cookie = String(try #require(set.dropFirst("shareserve-session=".count).split(separator: ";").first))
        }
        #expect(try user(gate, cookie) == nil)
    }

    @Test("A cookie is renewed only where nobody keeps the answer, and never on log-out")
    func renewal() throws {
        let gate = try process("anna:x@/:rw")
        let cookie = try begin(gate)
        clock.advance(Sessions.renewal)
        #expect(try user(gate, cookie) == "anna")
        let head = try view([("Cookie", "shareserve-session=\(cookie)")])
        var plain = Response(.ok, fields: ["Cache-Control": "no-cache"])
        gate.addFields(to: &plain, for: head)
        #expect(plain.fields["Set-Cookie"] == nil)
        var leaving = Response(.ok, fields: ["Cache-Control": "no-store", "Set-Cookie": "shareserve-session="])
        gate.addFields(to: &leaving, for: head)
        #expect(leaving.fields["Set-Cookie"] == "shareserve-session=")
    }

    @Test("A copy that was renewed is over with the log-out too")
    func copies() throws {
        let gate = try process("anna:x@/:rw")
        let cookie = try begin(gate)
        clock.advance(Sessions.renewal)
        guard
            case .found(let account, let ticket) = gate.sessions.find(
                cookies: "shareserve-session=\(cookie)", in: gate.current.book, waiting: true)
        else {
            Issue.record("not found")
            return
        }
        let renewed = try #require(gate.sessions.renewed(ticket, of: account))
        try end(gate, cookie)
        #expect(try user(gate, renewed) == nil)
        clock.advance(Sessions.idle - 1)
        #expect(try user(gate, renewed) == nil)
    }

    @Test("A session is over when the password changes, and when the account goes and comes back")
    func password() throws {
        let cookie = try begin(process("anna:x@/:rw"))
        #expect(try user(process("anna:y@/:rw"), cookie) == nil)
        #expect(try user(process("bob:x@/:rw"), cookie) == nil)
        #expect(try user(process("anna:x@/:ro"), cookie) == "anna")
    }

    @Test("No bit of a cookie can be another one")
    func forgery() throws {
        let gate = try process("anna:x@/:rw", "annb:x@/:rw")
        let cookie = Array(try begin(gate).utf8)
        for index in cookie.indices {
            var forged = cookie
            forged[index] = forged[index] == UInt8(ascii: "0") ? UInt8(ascii: "1") : UInt8(ascii: "0")
            #expect(try user(gate, String(decoding: forged, as: UTF8.self)) == nil)
        }
        for cookie in ["", "00", String(repeating: "0", count: 130), String(repeating: "a", count: 4_000), "zz"] {
            #expect(try user(gate, cookie) == nil)
        }
    }

    @Test("Where nothing can be kept, each process has a key of its own, and log-out still holds")
    func readOnly() throws {
        var policy = RootPolicy()
        policy.isReadOnly = true
        let gate = try process("anna:x@/:rw", policy: policy)
        let cookie = try begin(gate)
        #expect(try user(gate, cookie) == "anna")
        #expect(try user(process("anna:x@/:rw", policy: policy), cookie) == nil)
        try end(gate, cookie)
        #expect(try user(gate, cookie) == nil)
        #expect(!directory.exists(".shareserve"))
    }

    @Test("A damaged list of log-outs ends all sessions from before, and no later ones")
    func damage() throws {
        let gate = try process("anna:x@/:rw")
        let (cookie, other) = (try begin(gate), try begin(gate))
        try end(gate, cookie)
        try directory.write("nonsense", to: ".shareserve/ended-sessions")
        let restarted = try process("anna:x@/:rw")
        #expect(try user(restarted, other) == nil)
        clock.advance(1000)
        #expect(try user(restarted, begin(restarted)) == "anna")
    }

    @Test("The list of log-outs is bounded, and forgets nobody who is still out")
    func bounded() throws {
        let root = try DirectoryRoot(path: directory.path)
        let ended = root.endedSessions
        func time(_ seconds: Int64) -> Timestamp { Timestamp(seconds: 1_000_000 + seconds) }
        // The file is written in one go: each log-out would replace it.
        var text: [UInt8] = []
        for index in 0..<10_000 {
            text += Array("id=\(index)\tbegun=\(1_000_000 + index).0\tuntil=2000000.0\n".utf8)
        }
        _ = try root.kept("ended-sessions", isGood: { $0 == text }, orMake: { text })
        try ended.end([1], begun: time(20_000), until: time(900_000), now: time(20_000))
        for (id, begun) in [("0", 0), ("4999", 4_999), ("5000", 5_000), ("9999", 9_999)] {
            #expect(try ended.contains(Array(id.utf8), begun: time(Int64(begun)), now: time(20_000), waiting: true))
        }
        #expect(try !ended.contains([9], begun: time(20_000), now: time(20_000), waiting: true))
        #expect(try ended.contains([9], begun: time(3), now: time(20_000), waiting: true))
    }

    @Test("A nonce of one process is good at another, once at each")
    func nonces() throws {
        let (one, other) = (try process("anna:x@/:rw"), try process("anna:x@/:rw"))
        let nonce = Array(one.nonces.make().utf8)
        #expect(one.nonces.use(nonce, count: 1) == .fresh)
        #expect(one.nonces.use(nonce, count: 1) == .stale)
        #expect(other.nonces.use(nonce, count: 2) == .fresh)
        #expect(other.nonces.use(nonce, count: 2) == .stale)
        clock.advance(1)
        #expect(try process("bob:x@/:rw").nonces.use(nonce, count: 3) == .stale, "made before this process began")
    }

    @Test("A clock that is set back does not make every nonce stale")
    func clockSetBack() throws {
        let gate = try process("anna:x@/:rw")
        clock.advance(-500_000)
        #expect(gate.nonces.use(Array(gate.nonces.make().utf8), count: 1) == .fresh)
    }
}
