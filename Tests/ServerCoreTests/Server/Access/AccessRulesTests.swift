import DirectoryRoot
import Testing

@testable import ServerCore

@Suite("AccessRules")
struct AccessRulesTests {
    private func path(_ text: String) -> SharePath { SharePath(unchecked: Array(text.utf8)) }

    static let good: [(String, String, String, [(String, Rights)])] = [
        ("anna:secret@/:rw", "anna", "secret", [("", .readWrite)]),
        ("anna:p@ss:w@rd@/a:ro,/b/c:rw", "anna", "p@ss:w@rd", [("a", .readOnly), ("b/c", .readWrite)]),
        ("anna:secret@/a", "anna", "secret", [("a", .readOnly)]),
        ("anna:secret", "anna", "secret", [("", .readWrite)]),
        ("anna:@@/:w", "anna", "@", [("", .dropBox)]),
        ("anna:x@/y@/z:none", "anna", "x@/y", [("z", .none)]),
        ("anna:x@/a%20b%2Cc:rw", "anna", "x", [("a b,c", .readWrite)]),
        ("a b:x@/d:e:ro", "a b", "x", [("d:e", .readOnly)]),
        ("anna:$ecret@/", "anna", "$ecret", [("", .readOnly)]),
        ("anna:x|y@/z@/", "anna", "x|y@/z", [("", .readOnly)]),
    ]

    @Test("A rule names a user, a password and paths", arguments: good)
    func rules(rule: String, user: String, password: String, paths: [(String, Rights)]) throws {
        var rules = AccessRules()
        try rules.add(rule: rule)
        let account = try #require(rules.accounts.first)
        #expect(account.name == user)
        #expect(account.password == .plain(Array(password.utf8)))
        #expect(account.paths.map(\.path) == paths.map { self.path($0.0) })
        #expect(account.paths.map(\.rights) == paths.map(\.1))
    }

    @Test(
        "A rule that is none is refused, without telling the password",
        arguments: [
            "", "anna", "@", "anna:secret@/a:rx", "anna:secret@/../a", "anna:secret@/a%2Fb", "anna:secret@/%",
            ":secret@/",
            "anna:@/", "an\"na:secret@/", "anna:$6$secret@/", "anna:$apr1$secret$x@/", "anna:{SHA}secret=@/",
            "anna:{SSHA}secret=@/", "anna:$argon2id$secret@/",
            "anna:$scrypt$ln=16,r=8,p=1$secret@/", "anna:$pbkdf2-sha256$secret@/", "anna:pbkdf2_sha256$secret@/",
            "anna:{BLF-CRYPT}$2y$05$secret@/", "anna:{SHA256.HEX}secret@/", "anna:$3$$secret@/", "anna:$1a$secret@/",
            "anna:scram-sha-256:secret@/", "anna:SCRAM-SHA-256$4096:secret@/", "anna:scrypt:32768:8:1$secret@/",
            "anna:$digest-sha256$hidden@/", "anna:secret@/a,b",
            "anna:secret@/:rw|bob:secret@/b", "@/|anna:secret@/:rw", "anna:secret@/|@/:ro",
        ])
    func refused(rule: String) {
        var rules = AccessRules()
        let error = #expect(throws: AccessRuleError.self) { try rules.add(rule: rule) }
        #expect(error?.reason.contains("secret") != true)
    }

    @Test("A rule without a user is for everybody")
    func everybody() throws {
        var rules = AccessRules()
        try rules.add(rule: "@/public:ro,/inbox:w")
        #expect(rules.accounts.isEmpty)
        #expect(rules.everybody.map(\.rights) == [.readOnly, .dropBox])
        #expect(rules.isOn)
    }

    @Test("A password file has a hash a line, with paths behind it")
    func file() throws {
        var rules = AccessRules()
        try rules.add(
            file:
                "# people\n\nanna:$6$saltstring$svn8UoSVapNtMuq1ukKS4tPQd8iKwSMHWjl/O817G3uBnIFNjnQJuesI68u4OTLiBFdcbYEdFCoEOfaS35inz1 @/a:rw\r\nbob:plain@/b:ro"
        )
        #expect(rules.accounts.map(\.name) == ["anna", "bob"])
        #expect(rules.accounts[0].password.isSlow)
        var marked = AccessRules()
        try marked.add(file: "\u{FEFF}anna:secret\r\n")
        #expect(marked.accounts.map(\.name) == ["anna"])
        let error = #expect(throws: AccessRuleError.self) { try rules.add(file: "\n\nnonsense") }
        #expect(error?.reason.hasPrefix("line 3:") == true)
    }

    @Test("What everybody may, a user may too, unless the user's own rule says none")
    func joined() throws {
        var rules = AccessRules()
        try rules.add(rule: "@/public:ro,/secret:ro")
        try rules.add(rule: "admin:x@/:rw,/secret:none")
        try rules.add(rule: "bob:x@/home:rw")
        let admin = rules.rights(of: rules.accounts[0])
        #expect(admin.rights(at: path("public/a")) == .readWrite)
        #expect(admin.rights(at: path("secret/a")) == .none)
        let bob = rules.rights(of: rules.accounts[1])
        #expect(bob.rights(at: path("public/a")) == .readOnly)
        #expect(bob.rights(at: path("home/a")) == .readWrite)
        #expect(bob.rights(at: path("homework")) == .none)
        #expect(bob.rights(at: .root) == .none)
    }
}

@Suite("Password hashes")
struct PasswordHashTests {
    @Test("Every kind that is made is checked", arguments: PasswordHash.allCases)
    func roundTrip(kind: PasswordHash) throws {
        let text = try kind.make(password: "pä:ss@/", user: "anna")
        #expect(try kind.make(password: "pä:ss@/", user: "anna") != text || kind == .digest)
        let stored = try StoredPassword(text)
        #expect(stored.matches(Array("pä:ss@/".utf8), user: Array("anna".utf8), realm: AccessRules.realm))
        #expect(!stored.matches(Array("pä:ss@".utf8), user: Array("anna".utf8), realm: AccessRules.realm))
        #expect(!stored.matches([], user: Array("anna".utf8), realm: AccessRules.realm))
        #expect(!stored.matches([0], user: Array("anna".utf8), realm: AccessRules.realm))
        #expect(
            !stored.matches([UInt8](repeating: 65, count: 10_000), user: Array("anna".utf8), realm: AccessRules.realm))
        var rules = AccessRules()
        try rules.add(rule: "anna:\(text)@/a:rw")
        #expect(rules.accounts.first?.password == stored)
    }

    @Test("Hashes that other programs made are known")
    func known() throws {
        // From the description of SHA-crypt, and from htpasswd -B.
        let sha512 = try StoredPassword(
            "$6$saltstring$svn8UoSVapNtMuq1ukKS4tPQd8iKwSMHWjl/O817G3uBnIFNjnQJuesI68u4OTLiBFdcbYEdFCoEOfaS35inz1")
        #expect(sha512.matches(Array("Hello world!".utf8), user: [], realm: ""))
        let bcrypt = try StoredPassword("$2y$05$/OK.fbVrR/bpIqNJ5ianF.CE5elHaaO4EbggVDjb8P19RukzXSM3e")
        #expect(bcrypt.isSlow)
    }

    @Test("Known and unknown users cost one hash of each kind and cost that some account has")
    func constantWork() throws {
        var rules = AccessRules()
        let weaker = "$y$j8T$abcdefgh$Ap3lbDOh4mx1ttILUyUAZJ.xcnox/sPampubmJpVVz5"
        for (name, hash) in [
            ("anna", try PasswordHash.yescrypt.make(password: "a", user: "anna")),
            ("bert", try PasswordHash.bcrypt.make(password: "b", user: "bert")),
            ("carl", try PasswordHash.sha512.make(password: "c", user: "carl")),
            ("dora", try PasswordHash.yescrypt.make(password: "d", user: "dora")), ("emil", "plain"),
            ("fred", try PasswordHash.digest.make(password: "f", user: "fred")),
            ("gina", weaker), ("hans", "$6$rounds=9000$abcdefgh$" + String(repeating: "x", count: 86)),
        ] {
            try rules.add(rule: "\(name):\(hash)@/:rw")
        }
        let book = AccountBook(rules)
        let wanted: Set = ["y$j9T", "y$j8T", "2y$05", "6", "6$rounds=9000"]
        for name in ["anna", "bert", "carl", "dora", "emil", "fred", "gina", "hans", "nobody"] {
            let account = book.account(name)
            let costs = book.compared(for: account).compactMap(\.cost)
            #expect(costs.count == wanted.count && Set(costs) == wanted, "\(name)")
            #expect(account == nil || book.compared(for: account).first == account?.password)
        }
        #expect(book.verify(user: "anna", password: Array("a".utf8))?.name == "anna")
        #expect(book.verify(user: "bert", password: Array("b".utf8))?.name == "bert")
        #expect(book.verify(user: "bert", password: Array("a".utf8)) == nil)
        #expect(book.verify(user: "nobody", password: Array("plain".utf8)) == nil)
        #expect(book.verify(user: "emil", password: Array("plain".utf8))?.name == "emil")
    }

    @Test("A password that cannot be hashed is refused", arguments: ["", "a\0b", String(repeating: "x", count: 600)])
    func refused(password: String) {
        #expect(throws: AccessRuleError.self) { try PasswordHash.sha512.make(password: password, user: "a") }
    }
}
