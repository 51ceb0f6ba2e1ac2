import DirectoryRoot
import Synchronization
import TestSupport
import Testing

@testable import ServerCore

/// A clock that moves only when a test moves it.
final class TestClock: Sendable {
    private let milliseconds = Mutex<Int64>(1_000_000)
    func advance(_ by: Int64) { milliseconds.withLock { $0 += by } }
    var read: @Sendable () -> Int64 { { self.milliseconds.withLock { $0 } } }
}

@Suite("Gate")
struct GateTests {
    let directory: TemporaryDirectory
    let root: DirectoryRoot
    let clock = TestClock()

    init() throws {
        directory = try TemporaryDirectory()
        root = try DirectoryRoot(path: directory.path)
    }

    private func gate(_ rules: String..., change: (inout AccessRules) -> Void = { _ in }) throws -> Gate {
        var access = AccessRules()
        for rule in rules { try access.add(rule: rule) }
        change(&access)
        return Gate(access, root: root, clock: clock.read, wall: clock.read)
    }

    /// The outcome of a request; work for the pool runs at once.
    private func ask(
        _ gate: Gate, _ method: Method = .get, _ target: String = "/", _ lines: [(String, String)] = [],
        host: String = "localhost:8080", peer: String = "192.0.2.7", scheme: String = "http"
    ) throws -> Admission {
        try gate.answer(method, target, [("Host", host)] + lines, authority: host, scheme: scheme, peer: peer)
    }

    private func user(_ admission: Admission) -> String? {
        if case .allow(let share, _, _) = admission { share.user } else { nil }
    }

    private func challenges(_ admission: Admission) -> [String] {
        guard case .refuse(let response) = admission else { return [] }
        return response.fields.lines.filter { $0.name == "WWW-Authenticate" }.map(\.value)
    }

    private func basic(_ text: String) -> (String, String) { ("Authorization", "Basic " + Base64.encode(text.utf8)) }

    // MARK: - Accounts

    @Test("Without rules, everybody comes in")
    func open() throws {
        let gate = try gate()
        guard case .allow(let share, "", let path) = try ask(gate, .delete, "/a/b%20c") else {
            Issue.record("refused")
            return
        }
        #expect(path.bytes == Array("a/b c".utf8))
        #expect(share.rights.rights(at: path) == .readWrite)
        #expect(share.user == nil)
    }

    @Test("Basic credentials open, wrong ones do not")
    func basicCredentials() throws {
        let gate = try gate(
            "anna:se:cret@/:rw",
            "bob:$6$saltstring$svn8UoSVapNtMuq1ukKS4tPQd8iKwSMHWjl/O817G3uBnIFNjnQJuesI68u4OTLiBFdcbYEdFCoEOfaS35inz1@/:ro"
        )
        #expect(try user(ask(gate, .get, "/", [basic("anna:se:cret")])) == "anna")
        #expect(try user(ask(gate, .get, "/", [basic("DOMAIN\\anna:se:cret")])) == "anna")
        #expect(try user(ask(gate, .get, "/", [basic("bob:Hello world!")])) == "bob")
        #expect(try status(ask(gate, .get, "/", [basic("anna:secret")])) == 401)
        #expect(try status(ask(gate, .get, "/", [basic("carl:secret")])) == 401)
        #expect(try status(ask(gate)) == 401)
    }

    @Test("A verified password is not hashed again")
    func cached() throws {
        let gate = try gate(
            "bob:$6$saltstring$svn8UoSVapNtMuq1ukKS4tPQd8iKwSMHWjl/O817G3uBnIFNjnQJuesI68u4OTLiBFdcbYEdFCoEOfaS35inz1@/:ro"
        )
        let head = RequestHead()
        let line = basic("bob:Hello world!")
        head.compose(method: "GET", target: "/", lines: [line])
        let view = RequestHeadView(
            head: head, method: .get, target: try RequestTarget(head.target), authority: "", scheme: "http",
            peer: "::1")
        guard case .verify(let question) = gate.admit(view) else {
            Issue.record("crypt(3) belongs on the pool, behind others of its kind")
            return
        }
        #expect(user(try question()) == "bob")
        #expect(user(gate.admit(view)) == "bob")
        clock.advance(11 * 60_000)
        guard case .verify = gate.admit(view) else {
            Issue.record("after a while it is checked again")
            return
        }
    }

    @Test(
        "Malformed credentials are refused, and never crash",
        arguments: [
            "", "Basic", "Basic ", "Basic !!!", "Basic YWJj", "Basic " + String(repeating: "A", count: 10_000),
            "Bearer x", "Digest",
            "Digest ,", "Digest username", "Digest username=", "Digest username=\"anna", "Digest =x",
            "Digest username=\"anna\"",
            "Digest nc=00000001,nc=00000002", "Digest \u{0}", "Digest username*=UTF-8''%zz", "NTLM TlRMTVNTUAAB",
            "Basic\tYWJj",
            "Digest username=\"anna\",realm=\"shareserve\",nonce=\"x\",uri=\"/\",response=\"y\",qop=auth,nc=0000000g,cnonce=\"z\"",
            "Digest username=\"anna\",realm=\"shareserve\",nonce=\"\",uri=\"\",response=\"\",qop=auth-int,nc=00000001,cnonce=\"\"",
        ])
    func malformed(field: String) throws {
        let gate = try gate("anna:secret@/:rw")
        for _ in 0..<30 { #expect(try status(ask(gate, .get, "/", [("Authorization", field)])) == 401) }
    }

    @Test("A stranger is asked to log in where that may help")
    func strangers() throws {
        let gate = try gate("@/public:ro,/inbox:w", "anna:x@/:rw")
        #expect(try status(ask(gate, .get, "/public/a")) == 200)
        #expect(try status(ask(gate, .propfind, "/")) == 200)
        #expect(try status(ask(gate, .put, "/public/a")) == 401)
        #expect(try status(ask(gate, .put, "/inbox/a")) == 200)
        #expect(try status(ask(gate, .delete, "/inbox/a")) == 401)
        #expect(try status(ask(gate, .get, "/private")) == 401)
        #expect(try status(ask(gate, .options, "/private")) == 401)
        #expect(try status(ask(gate, .get, "/.shareserve/health")) == 200)
    }

    @Test(
        "Without an account, every door but those to the log-in is closed",
        arguments: [
            Method.get, .head, .post, .put, .delete, .propfind, .proppatch, .mkcol, .copy, .move, .lock, .unlock,
            .patch, .report, .options, Method(rawValue: "FOO"),
        ],
        [
            "/", "/a", "/.shareserve/info", "/.shareserve/uploads", "/.shareserve/search?q=a", "/.shareserve/metrics",
            "/.shareserve", "/.shareservex", "http://localhost:8080/a", "/a//b",
        ])
    func closed(method: Method, target: String) throws {
        #expect(try status(ask(gate("anna:x@/:rw"), method, target)) == 401)
    }

    @Test(
        "An address that is none is refused before anything",
        arguments: ["/../a", "/a/%2e%2e/b", "/%2F", "/%00", "/%zz"])
    func addresses(target: String) throws {
        #expect(try status(ask(gate("anna:x@/:rw"), .get, target)) == 400)
    }

    @Test("New rules hold at once")
    func replaced() throws {
        let gate = try gate("anna:x@/:rw")
        #expect(try user(ask(gate, .get, "/", [basic("anna:x")])) == "anna")
        var rules = AccessRules()
        try rules.add(rule: "bob:x@/:rw")
        let session = try gate.sessions.begin(for: #require(gate.current.book.account(named: "anna")))
        gate.replace(rules)
        #expect(try status(ask(gate, .get, "/", [basic("anna:x")])) == 401)
        #expect(try status(ask(gate, .get, "/", [("Cookie", "shareserve-session=\(session)")])) == 401)
    }

    @Test("The log-in page stays, whatever the number of new rules")
    func replacedOften() throws {
        let asked = Atomic<Int>(0)
        let gate = try gate("anna:x@/:rw") { rules in
            rules.logInPage = { _ in
                asked.add(1, ordering: .relaxed)
                return .text(.ok, "log in")
            }
        }
        var rules = AccessRules()
        try rules.add(rule: "anna:x@/:rw")
        for _ in 0..<100_000 { gate.replace(rules) }
        let browser = [("User-Agent", "Mozilla/5.0"), ("Accept", "text/html")]
        #expect(try status(ask(gate, .get, "/", browser)) == 401)
        #expect(asked.load(ordering: .relaxed) == 1)
    }

    // MARK: - Guessing

    @Test("Guessing is slowed down, and forgiven later")
    func guessing() throws {
        let gate = try gate("anna:secret@/:rw")
        for _ in 0..<GuessThrottle.freePerAddress {
            #expect(try status(ask(gate, .get, "/", [basic("anna:wrong")])) == 401)
        }
        let refused = try ask(gate, .get, "/", [basic("anna:wrong")])
        #expect(status(refused) == 429)
        guard case .refuse(let response) = refused else { return }
        #expect(response.fields["Retry-After"] == "1")
        #expect(try status(ask(gate, .get, "/", [basic("anna:secret")])) == 429)
        #expect(try user(ask(gate, .get, "/", [basic("anna:secret")], peer: "198.51.100.1")) == "anna")
        clock.advance(1000)
        #expect(try status(ask(gate, .get, "/", [basic("anna:wrong")])) == 401)
        #expect(try status(ask(gate, .get, "/", [basic("anna:wrong")])) == 429)
        clock.advance(61_000)
        #expect(try user(ask(gate, .get, "/", [basic("anna:secret")])) == "anna")
        #expect(try status(ask(gate, .get, "/", [basic("anna:wrong")])) == 401)
    }

    @Test("Guessing from a whole network, or from many addresses at one user, is slowed down too")
    func networks() throws {
        let gate = try gate("anna:secret@/:rw")
        for index in 0..<10 { _ = try ask(gate, .get, "/", [basic("anna:x")], peer: "2001:db8::\(index + 1)") }
        #expect(try status(ask(gate, .get, "/", [basic("anna:x")], peer: "2001:db8::ffff")) == 429)
        for index in 0..<60 { _ = try ask(gate, .get, "/", [basic("anna:x")], peer: "10.0.0.\(index + 1)") }
        #expect(try status(ask(gate, .get, "/", [basic("anna:x")], peer: "10.0.1.1")) == 429)
        #expect(try status(ask(gate, .get, "/", [basic("bob:x")], peer: "10.0.1.1")) == 401)
    }

    @Test("One guess more than once is one guess; each other one counts")
    func sameGuess() {
        let throttle = GuessThrottle(clock: clock.read)
        let address = NetworkAddress("192.0.2.1")
        for _ in 0..<100 { throttle.fail(address: address, user: nil, guess: 1) }
        #expect(throttle.wait(address: address, user: nil) == nil)
        for guess in 2...GuessThrottle.freePerAddress { throttle.fail(address: address, user: nil, guess: guess) }
        #expect(throttle.wait(address: address, user: nil) != nil)
    }

    @Test("Who logs in with each request has others' guesses forgiven now and then, not each time")
    func forgiving() {
        let throttle = GuessThrottle(clock: clock.read)
        let address = NetworkAddress("192.0.2.1")
        throttle.succeed(address: address, user: "anna")
        var guesses = 0
        while guesses < 100, throttle.wait(address: address, user: "anna") == nil {
            throttle.fail(address: address, user: "anna")
            throttle.succeed(address: address, user: "bob")
            guesses += 1
        }
        #expect(guesses == GuessThrottle.freePerAddress + 1)
        clock.advance(GuessThrottle.forgivesEach)
        throttle.succeed(address: address, user: "bob")
        #expect(throttle.wait(address: address, user: "anna") == nil)
    }

    @Test("Who is logged in by Digest goes on while others guess, until a guess with the same nonce is wrong")
    func knownNonces() throws {
        let gate = try gate("anna:secret@/:rw", "bob:other@/:rw")
        let nonce = try nonce(gate)
        #expect(try user(ask(gate, .get, "/", [digest(nonce: nonce)])) == "anna")
        for _ in 0...GuessThrottle.freePerAddress { _ = try ask(gate, .get, "/", [basic("bob:wrong")]) }
        #expect(try status(ask(gate, .get, "/", [basic("bob:other")])) == 429)
        #expect(try user(ask(gate, .get, "/", [digest(nonce: nonce, count: "00000002")])) == "anna")
        for _ in 0...GuessThrottle.freePerAddress { _ = try ask(gate, .get, "/", [basic("bob:wrong")]) }
        let wrong = digest(password: "x", nonce: nonce, count: "00000003")
        #expect(try status(ask(gate, .get, "/", [wrong])) == 401)
        #expect(try status(ask(gate, .get, "/", [digest(nonce: nonce, count: "00000004")])) == 429)
    }

    @Test("Who is logged in goes on while others guess for longer than what is remembered of it lasts")
    func knownForLong() throws {
        let gate = try gate("anna:secret@/:rw", "bob:other@/:rw", "carl:third@/:rw")
        var nonce = try nonce(gate)
        #expect(try user(ask(gate, .get, "/", [digest(nonce: nonce)])) == "anna")
        #expect(try user(ask(gate, .get, "/", [basic("carl:third")])) == "carl")
        for minute in 1...30 {
            clock.advance(60_000)
            for _ in 0...GuessThrottle.freePerAddress { _ = try ask(gate, .get, "/", [basic("bob:wrong")]) }
            #expect(try status(ask(gate, .get, "/", [basic("bob:other")])) == 429)
            let count = Hex.text([0, 0, 0, UInt8(minute + 1)])
            var answer = try ask(gate, .get, "/", [digest(nonce: nonce, count: count)])
            if let stale = challenges(answer).first(where: { $0.contains("stale=true") }) {
                nonce = String(try #require(stale.split(separator: "nonce=\"").last?.prefix(64)))
                answer = try ask(gate, .get, "/", [digest(nonce: nonce, count: count)])
            }
            #expect(user(answer) == "anna")
            #expect(try user(ask(gate, .get, "/", [basic("carl:third")])) == "carl")
        }
    }

    @Test("The table of guesses is bounded")
    func bounded() {
        let throttle = GuessThrottle(clock: clock.read)
        for index in 0..<30_000 {
            throttle.fail(
                address: NetworkAddress("10.\(index >> 16).\(index >> 8 & 255).\(index & 255)"), user: "u\(index)")
        }
        #expect(throttle.wait(address: NetworkAddress("192.0.2.1"), user: "x") == nil)
    }

    @Test("A name that is written in many ways is one name to who counts")
    func spellings() throws {
        let gate = try gate("anna:secret@/:rw")
        for index in 0..<30 { _ = try ask(gate, .get, "/", [basic("d\(index)\\anna:x")], peer: "10.0.0.\(index + 1)") }
        let nonce = try nonce(gate)
        let name = hash(.sha256, "anna:shareserve")
        for index in 0..<30 {
            let spelled = String(name.enumerated().map { $0 == index ? Character($1.uppercased()) : $1 })
            let wrong = digest(password: "x", nonce: nonce, count: Hex.text([0, 0, 0, UInt8(index + 1)])) {
                $0.replacing("username=\"anna\"", with: "username=\"\(spelled)\", userhash=true")
            }
            _ = try ask(gate, .get, "/", [wrong], peer: "10.0.1.\(index + 1)")
        }
        #expect(try status(ask(gate, .get, "/", [basic("anna:x")], peer: "10.0.2.1")) == 429)
    }

    @Test("Who guesses at a user keeps nobody out where that user has been")
    func homes() throws {
        let gate = try gate("anna:secret@/:rw")
        let nonce = try nonce(gate)
        #expect(try user(ask(gate, .get, "/", [digest(nonce: nonce)], peer: "192.0.2.7")) == "anna")
        for index in 0..<60 { _ = try ask(gate, .get, "/", [basic("anna:x")], peer: "10.0.0.\(index + 1)") }
        #expect(try status(ask(gate, .get, "/", [basic("anna:secret")], peer: "10.0.1.1")) == 429)
        let again = digest(nonce: nonce, count: "00000002")
        #expect(try user(ask(gate, .get, "/", [again], peer: "192.0.2.7")) == "anna")
        #expect(try user(ask(gate, .get, "/", [basic("anna:secret")], peer: "192.0.2.7")) == "anna")
        for _ in 0..<GuessThrottle.freePerAddress { _ = try ask(gate, .get, "/", [basic("anna:x")], peer: "192.0.2.7") }
        #expect(try status(ask(gate, .get, "/", [basic("anna:x")], peer: "192.0.2.7")) == 429)
    }

    @Test("A password whose check was under way while it changed is not remembered")
    func replacedMeanwhile() throws {
        let old = try PasswordHash.sha512.make(password: "old", user: "anna")
        let gate = try gate("anna:\(old)@/:rw")
        let head = RequestHead()
        head.compose(method: "GET", target: "/", lines: [basic("anna:old")])
        let view = RequestHeadView(
            head: head, method: .get, target: try RequestTarget(head.target), authority: "localhost", scheme: "http",
            peer: "192.0.2.1")
        guard case .verify(let waiting) = gate.admit(view) else {
            Issue.record("not asked to wait")
            return
        }
        var rules = AccessRules()
        try rules.add(rule: "anna:\(PasswordHash.sha512.make(password: "new", user: "anna"))@/:rw")
        gate.replace(rules)
        _ = try waiting()
        #expect(try status(ask(gate, .get, "/", [basic("anna:old")])) == 401)
        #expect(try user(ask(gate, .get, "/", [basic("anna:new")])) == "anna")
    }

    // MARK: - Digest

    private func hash(_ algorithm: DigestAlgorithm, _ text: String) -> String {
        var digester = Digester(algorithm)
        digester.update(Array(text.utf8))
        return Hex.text(digester.finish())
    }

    private func nonce(_ gate: Gate) throws -> String {
        let lines = try challenges(ask(gate))
        let challenge = try #require(lines.first)
        let parts = challenge.split(separator: "\"")
        let name = try #require(parts.firstIndex { $0.hasSuffix("nonce=") })
        return String(parts[name + 1])
    }

    private func digest(
        _ algorithm: DigestAlgorithm = .sha256, user: String = "anna", password: String = "secret", nonce: String,
        count: String = "00000001",
        uri: String = "/", method: String = "GET", realm: String = "shareserve", change: (String) -> String = { $0 }
    ) -> (String, String) {
        let name = algorithm == .md5 ? "MD5" : "SHA-256"
        let secret = hash(algorithm, "\(user):\(realm):\(password)")
        let response = hash(algorithm, "\(secret):\(nonce):\(count):abc:auth:" + hash(algorithm, "\(method):\(uri)"))
        let line = """
            Digest username="\(user)", realm="\(realm)", nonce="\(nonce)", uri="\(uri)", algorithm=\(name), qop=auth, \
            nc=\(count), cnonce="abc", response="\(response)"
            """
        return ("Authorization", change(line))
    }

    @Test("Both algorithms and Basic are offered, the strongest first")
    func offered() throws {
        let lines = try challenges(ask(gate("anna:secret@/:rw")))
        #expect(lines.count == 3)
        #expect(
            lines[0].hasPrefix("Digest ") && lines[0].contains("algorithm=SHA-256") && lines[0].contains("qop=\"auth\"")
        )
        #expect(lines[1].hasPrefix("Digest ") && lines[1].contains("algorithm=MD5"))
        #expect(lines[2].hasPrefix("Basic "))
        let secret = try PasswordHash.digest.make(password: "secret", user: "anna")
        #expect(try challenges(ask(gate("anna:\(secret)@/:rw"))).count == 2)
        let crypt = try PasswordHash.sha512.make(password: "secret", user: "anna")
        #expect(try challenges(ask(gate("anna:\(crypt)@/:rw"))).count == 1)
    }

    @Test("A right Digest opens", arguments: [DigestAlgorithm.sha256, .md5])
    func digestOpens(algorithm: DigestAlgorithm) throws {
        let gate = try gate("anna:secret@/:rw")
        let nonce = try nonce(gate)
        #expect(try user(ask(gate, .get, "/", [digest(algorithm, nonce: nonce)])) == "anna")
        #expect(
            try user(
                ask(
                    gate, .put, "/a?b", [digest(algorithm, nonce: nonce, count: "00000002", uri: "/a?b", method: "PUT")]
                )) == "anna")
        let absolute = digest(algorithm, nonce: nonce, count: "00000003", uri: "http://localhost:8080/a")
        #expect(try user(ask(gate, .get, "/a", [absolute])) == "anna")
        let windows = digest(algorithm, user: "DOMAIN\\anna", nonce: nonce, count: "00000004")
        #expect(try user(ask(gate, .get, "/", [windows])) == "anna")
        let hashed = digest(algorithm, nonce: nonce, count: "00000005") {
            $0.replacing(
                "username=\"anna\"", with: "username=\"\(self.hash(algorithm, "anna:shareserve"))\", userhash=true")
        }
        #expect(try user(ask(gate, .get, "/", [hashed])) == "anna")
        let misnamed = digest(.md5, nonce: nonce, count: "00000006") {
            $0.replacing("algorithm=MD5", with: "algorithm=\"SHA-256\"")
        }
        #expect(try user(ask(gate, .get, "/", [misnamed])) == "anna", "lftp")
    }

    @Test("A kept secret serves Digest and Basic")
    func digestSecret() throws {
        let gate = try gate("anna:\(PasswordHash.digest.make(password: "secret", user: "anna"))@/:rw")
        #expect(try user(ask(gate, .get, "/", [digest(nonce: nonce(gate))])) == "anna")
        #expect(try user(ask(gate, .get, "/", [basic("anna:secret")])) == "anna")
        #expect(try status(ask(gate, .get, "/", [digest(.md5, nonce: nonce(gate))])) == 401)
    }

    @Test("The examples of RFC 7616 are computed as it says")
    func rfc7616() throws {
        // §3.9.1: user Mufasa, password "Circle of Life"; our realm and nonces differ, so only the arithmetic is
        // compared.
        let ha1 = hash(.sha256, "Mufasa:http-auth@example.org:Circle of Life")
        let ha2 = hash(.sha256, "GET:/dir/index.html")
        let nonce = "7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v"
        let cnonce = "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ"
        #expect(
            hash(.sha256, "\(ha1):\(nonce):00000001:\(cnonce):auth:\(ha2)")
                == "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1")
        let md5 = hash(.md5, "Mufasa:http-auth@example.org:Circle of Life")
        #expect(
            hash(.md5, "\(md5):\(nonce):00000001:\(cnonce):auth:" + hash(.md5, "GET:/dir/index.html"))
                == "8ca523f5e9506fed4657c9700eebdbec")
        let credentials = Credentials(
            field: """
                Digest username="Mufasa", realm="http-auth@example.org", uri="/dir/index.html", algorithm=SHA-256, \
                nonce="\(nonce)", nc=00000001, cnonce="\(cnonce)", qop=auth, \
                response="753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1", \
                opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS"
                """)
        guard case .digest(let digest) = credentials else {
            Issue.record("not read")
            return
        }
        #expect(digest.count == 1)
        #expect(digest.user == Array("Mufasa".utf8))
    }

    @Test("A replay is refused as stale, whatever else is in flight")
    func replay() throws {
        let gate = try gate("anna:secret@/:rw")
        let nonce = try nonce(gate)
        for count in ["00000001", "00000003", "00000002", "00000040"] {
            #expect(try user(ask(gate, .get, "/", [digest(nonce: nonce, count: count)])) == "anna")
        }
        for count in ["00000001", "00000002", "00000040", "00000000"] {
            let refused = try ask(gate, .get, "/", [digest(nonce: nonce, count: count)])
            #expect(status(refused) == 401)
            #expect(challenges(refused).first?.contains("stale=true") == true)
        }
        #expect(try user(ask(gate, .get, "/", [digest(nonce: nonce, count: "00000004")])) == "anna")
        #expect(try user(ask(gate, .get, "/", [digest(nonce: nonce, count: "ffffffff")])) == "anna")
        #expect(try status(ask(gate, .get, "/", [digest(nonce: nonce, count: "00000005")])) == 401)
    }

    @Test("A nonce that is over, or not ours, is stale")
    func stale() throws {
        let gate = try gate("anna:secret@/:rw")
        let old = try nonce(gate)
        clock.advance(Nonces.lifetime)
        for nonce in [old, String(repeating: "0", count: 64), "x", ""] {
            let refused = try ask(gate, .get, "/", [digest(nonce: nonce)])
            #expect(status(refused) == 401)
            #expect(challenges(refused).first?.contains("stale=true") == true)
        }
    }

    @Test("A Digest for something else is refused, and not as stale")
    func digestElsewhere() throws {
        let gate = try gate("anna:secret@/:rw")
        let nonce = try nonce(gate)
        let wrong = [
            digest(password: "wrong", nonce: nonce), digest(user: "carl", nonce: nonce),
            digest(nonce: nonce, uri: "/other"),
            digest(nonce: nonce, method: "PUT"), digest(nonce: nonce, realm: "elsewhere"),
            digest(nonce: nonce) { $0.replacing("qop=auth,", with: "") },
            digest(nonce: nonce) { $0.replacing("cnonce=\"abc\"", with: "cnonce=\"abd\"") },
            digest(nonce: nonce) { $0.replacing("algorithm=SHA-256", with: "algorithm=SHA-256-sess") },
            digest(nonce: nonce) { $0.replacing("algorithm=SHA-256", with: "algorithm=SHA-512-256") },
        ]
        for line in wrong {
            let refused = try ask(gate, .get, "/", [line])
            #expect(status(refused) == 401)
            #expect(challenges(refused).first?.contains("stale") == false)
        }
    }

    @Test("Without a single field of it, a Digest is refused and nothing else happens")
    func missingFields() throws {
        let gate = try gate("anna:secret@/:rw")
        let whole = digest(nonce: try nonce(gate)).1
        for name in ["username", "realm", "nonce", "uri", "qop", "nc", "cnonce", "response"] {
            let parts = whole.dropFirst("Digest ".count).split(separator: ", ").filter { !$0.hasPrefix(name + "=") }
            #expect(
                try status(ask(gate, .get, "/", [("Authorization", "Digest " + parts.joined(separator: ", "))])) == 401,
                "\(name)")
        }
    }

    @Test("Nonces are forgotten within bounds, and a forgotten one does not open again")
    func nonceBounds() {
        let nonces = Nonces(secret: ShareSecret(root: root), clock: clock.read)
        let first = Array(nonces.make().utf8)
        #expect(nonces.use(first, count: 1) == .fresh)
        for _ in 0..<5_000 {
            clock.advance(1)
            #expect(nonces.use(Array(nonces.make().utf8), count: 1) == .fresh)
        }
        #expect(nonces.use(first, count: 1) == .stale)
        #expect(nonces.use(first, count: 2) == .stale)
    }

    // MARK: - Sessions

    @Test("A session's cookie opens until it is over")
    func sessions() throws {
        let gate = try gate("anna:x@/:rw")
        let id = try gate.sessions.begin(for: #require(gate.current.book.account(named: "anna")))
        let cookie = ("Cookie", "a=b; shareserve-session=\(id); c=d")
        #expect(try user(ask(gate, .get, "/", [cookie])) == "anna")
        #expect(try status(ask(gate, .get, "/", [("Cookie", "shareserve-session=\(id)0")])) == 401)
        clock.advance(Sessions.idle - 1)
        #expect(try user(ask(gate, .get, "/", [cookie])) == "anna")
        clock.advance(1)
        #expect(try status(ask(gate, .get, "/", [cookie])) == 401)
        let other = try gate.sessions.begin(for: #require(gate.current.book.account(named: "anna")))
        try gate.sessions.end(cookies: "shareserve-session=\(other)", in: gate.current.book)
        #expect(try status(ask(gate, .get, "/", [("Cookie", "shareserve-session=\(other)")])) == 401)
        for cookies in [
            "", "=", ";;;", "shareserve-session", "shareserve-session=",
            String(repeating: "shareserve-session=a;", count: 1000),
        ] {
            #expect(try status(ask(gate, .get, "/", [("Cookie", cookies)])) == 401)
        }
    }

    @Test("A browser gets a page instead of its own window")
    func browser() throws {
        let gate = try gate("anna:x@/:rw") { rules in
            rules.logInPage = { .text(.ok, "log in, then \($0.returnTo)") }
        }
        let browser = [("User-Agent", "Mozilla/5.0"), ("Accept", "text/html,*/*;q=0.8")]
        let refused = try ask(gate, .get, "/a?b=c", browser)
        #expect(status(refused) == 401)
        #expect(challenges(refused) == ["Session realm=\"shareserve\""])
        guard case .refuse(let response) = refused, case .bytes(let bytes) = response.body else { return }
        #expect(String(decoding: bytes, as: UTF8.self) == "log in, then /a?b=c\n")
        #expect(try challenges(ask(gate, .get, "/a", [("Accept", "*/*")])).count == 3)
    }

    @Test(
        "After logging in, nobody is led elsewhere",
        arguments: [
            "//evil.example/", "/\\evil.example", "https://evil.example/", "javascript:alert(1)", "", "/a\r\nb", "/a b",
            "\\\\evil", "a", "/.//evil.example/", "/..//evil.example/",
            "/.shareserve/logout", "/ä",
        ])
    func openRedirect(place: String) {
        #expect(LogInHandler.place(place, below: "") == "/")
        #expect(LogInHandler.place("/a/?b=c", below: "") == "/a/?b=c")
        #expect(LogInHandler.place("/other", below: "/p") == "/p/")
    }

    @Test("Logging in gives a cookie that scripts and other sites do not get")
    func logIn() async throws {
        let gate = try gate("anna:x@/:rw")
        let handler = LogInHandler(gate)
        func post(_ form: String, _ fields: [(String, String)] = []) async throws -> Response {
            let request = try Request.forTesting(
                method: .post, path: "/.shareserve/login", fields: fields, body: Array(form.utf8),
                share: Share(root: root))
            guard case .later(let work) = handler.answer(request) else { throw HTTPError(.notFound, "passed") }
            return try await work(request)
        }
        let page = [("Accept", "text/html")]
        let right = try await post("user=anna&password=x&return=%2Fa%2F", page)
        #expect(right.status == .seeOther)
        #expect(right.fields["Location"] == "/a/")
        let cookie = try #require(right.fields["Set-Cookie"])
        #expect(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict") && !cookie.contains("Secure"))
        #expect(try user(ask(gate, .get, "/", [("Cookie", String(cookie.prefix { $0 != ";" }))])) == "anna")
        #expect(try await post("user=anna&password=x").status == .noContent)
        #expect(try await post("user=anna&password=y", page).status == .unauthorized)
        #expect(try await post("user=&password=", page).status == .unauthorized)
        #expect(try await post("", page).status == .unauthorized)
        #expect(Sessions.setCookie("a", prefix: "/p", isSecure: true).hasSuffix("; Secure"))
    }
}
