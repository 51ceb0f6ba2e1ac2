import Testing

@testable import ServerCore

@Suite("NetworkAddress and Network")
struct NetworkAddressTests {
    @Test(
        "Different spellings of one address are one",
        arguments: [
            ("::1", "0:0:0:0:0:0:0:1"), ("2001:db8::1", "[2001:0DB8:0:0:0:0:0:1]"), ("::ffff:192.0.2.1", "192.0.2.1"),
            ("::", "0::0"), ("fe80::1%eth0", "fe80::1"), ("1::", "1:0:0:0:0:0:0:0"),
        ])
    func same(a: String, b: String) {
        #expect(NetworkAddress(a) != nil)
        #expect(NetworkAddress(a) == NetworkAddress(b))
    }

    @Test(
        "What is no address is nil",
        arguments: [
            "", "1.2.3", "1.2.3.4.5", "256.1.1.1", "01.2.3.4", "1.2.3.4:80", "localhost", ":::", "1::2::3", "12345::",
            "1:2:3:4:5:6:7",
            "1:2:3:4:5:6:7:8:9", "g::", "::1.2.3", "[::1", "1:", "0x7f.0.0.1", "2130706433", "1:2:3:4:5:6:7::8",
        ])
    func malformed(text: String) {
        #expect(NetworkAddress(text) == nil)
    }

    @Test("A network holds its addresses and no others")
    func networks() throws {
        let ten = try #require(Network("10.1.2.3/8"))
        #expect(ten.contains(try #require(NetworkAddress("10.255.0.1"))))
        #expect(!ten.contains(try #require(NetworkAddress("11.0.0.1"))))
        #expect(!ten.contains(try #require(NetworkAddress("a00::1"))))
        let all = try #require(Network("::/0"))
        #expect(all.contains(try #require(NetworkAddress("10.0.0.1"))))
        let all4 = try #require(Network("0.0.0.0/0"))
        #expect(!all4.contains(try #require(NetworkAddress("2001::1"))))
        #expect(try #require(Network("192.0.2.1")).contains(try #require(NetworkAddress("::ffff:192.0.2.1"))))
        for text in ["10.0.0.0/33", "::/129", "10.0.0.0/-1", "10.0.0.0/", "/8", "x/8"] { #expect(Network(text) == nil) }
    }
}

@Suite("TrustedProxies")
struct TrustedProxiesTests {
    private func client(
        _ trusted: [String], peer: String, _ lines: [(String, String)]
    ) throws -> TrustedProxies.Client {
        let head = RequestHead()
        head.compose(method: "GET", target: "/", lines: lines)
        return try TrustedProxies(trusted).client(
            of: .init(address: peer, scheme: "http", authority: "inner"), fields: RequestFields(head: head))
    }

    @Test("Nothing is believed from others")
    func strangers() throws {
        let lines = [("X-Forwarded-For", "9.9.9.9"), ("Forwarded", "for=9.9.9.9;proto=https;host=evil")]
        #expect(
            try client(["10.0.0.0/8"], peer: "11.0.0.1", lines)
                == .init(address: "11.0.0.1", scheme: "http", authority: "inner"))
        #expect(try client([], peer: "unix", lines).address == "unix")
    }

    @Test("A proxy says who its client is")
    func trusted() throws {
        let x = [
            ("X-Forwarded-For", "8.8.8.8, 9.9.9.9"), ("X-Forwarded-Proto", "https"),
            ("X-Forwarded-Host", "files.example"),
        ]
        #expect(
            try client(["10.0.0.0/8"], peer: "10.0.0.1", x)
                == .init(address: "9.9.9.9", scheme: "https", authority: "files.example"))
        let standard = [
            ("Forwarded", "for=8.8.8.8, for=\"[2001:db8::1]:4711\";proto=HTTPS;host=\"files.example:8443\"")
        ]
        #expect(
            try client(["unix"], peer: "unix", standard)
                == .init(address: "2001:db8::1", scheme: "https", authority: "files.example:8443"))
        // A proxy that writes the older fields passes the client's own Forwarded field on: the older ones count.
        for older in x.prefix(2) {
            #expect(
                try client(["unix"], peer: "unix", standard + [older]) == client(["unix"], peer: "unix", [older]))
        }
    }

    @Test("A chain of trusted proxies is followed to the first stranger")
    func chain() throws {
        let lines = [("X-Forwarded-For", "6.6.6.6, 7.7.7.7, 10.0.0.2"), ("X-Forwarded-Proto", "http, https, http")]
        let found = try client(["10.0.0.0/8"], peer: "10.0.0.1", lines)
        #expect(found.address == "7.7.7.7")
        #expect(found.scheme == "https")
    }

    @Test(
        "Nonsense from a proxy changes nothing but itself",
        arguments: [
            [("X-Forwarded-For", "unknown")], [("X-Forwarded-For", "")], [("Forwarded", "for=_hidden")],
            [("Forwarded", ";;;,,,\"")],
            [("X-Forwarded-Host", "a b\"<")], [("X-Forwarded-Proto", "javascript")],
            [("X-Forwarded-For", String(repeating: ",", count: 10_000))],
        ])
    func nonsense(lines: [(String, String)]) throws {
        #expect(
            try client(["10.0.0.1"], peer: "10.0.0.1", lines)
                == .init(address: "10.0.0.1", scheme: "http", authority: "inner"))
    }

    @Test(
        "The zone of an address goes, whatever text it is",
        arguments: ["::1%\"x\": \u{9B}31m", "[::1%eth0]:80", "::1%\u{301}", "::1%"])
    func zones(node: String) throws {
        let found = try client(["unix"], peer: "unix", [("X-Forwarded-For", node)])
        #expect(found.address == "::1")
    }

    @Test("A network that is none is refused")
    func refused() {
        #expect(throws: AccessRuleError.self) { try TrustedProxies(["10.0.0.0/99"]) }
    }
}
