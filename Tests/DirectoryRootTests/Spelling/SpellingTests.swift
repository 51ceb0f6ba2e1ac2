import TestSupport
import Testing

@testable import DirectoryRoot

/// Names that a file system may treat as equal, and rules about one of them.
@Suite("Other spellings of a name") struct SpellingTests {
    @Test(
        "Names that some file system takes for one are alike",
        arguments: [
            ("private", "PRIVATE"), ("private", "pRiVate"), ("private", "private."), ("private", "private. ."),
            ("private", "private::$INDEX_ALLOCATION"), ("a", "A:b"), ("caf\u{E9}", "cafe\u{301}"),
            ("caf\u{E9}", "CAFE\u{301}"), ("stra\u{DF}e", "STRASSE"), ("\u{17F}ecret", "secret"),
            ("\u{212A}eys", "keys"), ("\u{3C3}", "\u{3C2}"), ("priv\u{200D}ate", "private"),
            ("private\u{FEFF}", "Private"), ("a b", "A b "), ("a\u{F022}b", "a:b"),
            ("\u{444}\u{43E}", "\u{424}\u{41E}"),
        ])
    func alike(_ one: String, _ other: String) {
        #expect(NameKey.areAlike(one.utf8, other.utf8) && NameKey.areAlike(other.utf8, one.utf8))
        let (path, rule) = (SharePath(one + "/x"), SharePath(other))
        #expect(path.spellings(of: rule)?.map(\.known) == [Array(other.utf8)])
    }

    @Test(
        "Other names are not",
        arguments: [
            ("private", "private2"), ("private", "privat"), ("a.b", "a"), (".a", "a"), ("a b", "ab"), ("\u{E9}", "e"),
            ("\u{444}", "\u{43E}"), ("priv", "privat~1"),
        ])
    func unlike(_ one: String, _ other: String) {
        #expect(!NameKey.areAlike(one.utf8, other.utf8))
        #expect(SharePath(one + "/x").spellings(of: SharePath(other)) == nil)
    }

    @Test("A name that is no UTF-8 is like every other of the same letters and number of bytes")
    func noText() {
        #expect(NameKey.areAlike([0x4B, 0xF6, 0x6C, 0x6E], [0x6B, 0xD6, 0x4C, 0x4E]))
        #expect(NameKey.areAlike("\u{D6}l".utf8, [0xE3, 0x96, 0x4C]))
        #expect(!NameKey.areAlike([0x4B, 0xF6], [0x4B, 0xF6, 0xF6]))
    }

    @Test("Whatever the bytes of a name, it is like itself and like itself in other letters")
    func anyBytes() throws {
        // Names of letters, of marks cut off or left out, and of bytes that begin or continue a multi-byte character.
        let pieces: [[UInt8]] =
            ["a", "B", ".", " ", ":", "~1", "*", "[", "\u{301}", "\u{200D}", "\u{F028}", "\u{DF}"]
            .map { Array($0.utf8) } + [[0x80], [0xC3], [0xF0, 0x9F], [0xFF]]
        let patterns = HiddenSpellings(["*\u{DF}[a-", "?.b*"])
        var state: UInt32 = 1
        for _ in 0..<2_000 {
            var name: [UInt8] = []
            for _ in 0..<(1 + state % 9) {
                state = state &* 1_664_525 &+ 1_013_904_223
                name += pieces[Int(state >> 16) % pieces.count]
            }
            let other = NameKey.swapped(name)
            #expect(NameKey.areAlike(name, name) && NameKey.areAlike(name, other))
            #expect(SharePath.mayBeShort(name) == SharePath.mayBeShort(other))
            #expect(patterns.mayHave(name: name) == patterns.mayHave(name: other))
        }
    }

    @Test(
        "Names in the form of short ones",
        arguments: ["PRIVAT~1", "priva~12", "SHARES~1", "INDEX~1.HTM", "SH3F2A~1.", "A~1:x"])
    func short(_ name: String) {
        #expect(SharePath.mayBeShort(name.utf8) && SharePath("a/\(name)/b").hasShortNames)
    }

    @Test(
        "Other names with a tilde",
        arguments: ["~", "~1", "file~", "~$letter.docx", "x.~1~", "document~1.txt", "a.b~1.c"])
    func notShort(_ name: String) {
        #expect(!SharePath.mayBeShort(name.utf8))
    }

    @Test(
        "Patterns take other spellings",
        arguments: [
            ("secret*", "SECRET.txt", true), ("*.bak", "a.BAK", true), ("*.bak", "a.bak.", true),
            ("*.bak", "a.bak:", true),
            ("*.BAK", "a.bak", true), ("caf\u{E9}*", "CAFE\u{301}1", true), ("caf\u{E9}*", "caf\u{E8}1", false),
            ("[A-C]*", "beta", true), ("[[:upper:]]*", "beta", true), ("*.bak", "a.bakery", false),
            ("secret*", "public", false),
        ])
    func patterns(_ pattern: String, _ name: String, _ takes: Bool) {
        #expect(HiddenSpellings([pattern]).mayHave(name: Array(name.utf8)) == takes)
    }

    @Test(
        "Reserved names are reserved in every spelling",
        arguments: [
            ".SHARESERVE", ".shareserve.", ".shareserve ", ".shareserve::$INDEX_ALLOCATION", ".\u{17F}hareserve",
            ".share\u{200D}serve", "\u{200D}.shareserve", ".ShareServe-1", ".\u{17F}hareserve-1", ".shareserve\u{F029}",
        ])
    func reserved(_ name: String) throws {
        let fixture = try Fixture()
        #expect(throws: RootError.notFound) { try fixture.share.open(SharePath(name)) }
        #expect(throws: RootError.forbidden) { try fixture.share.createDirectory(at: SharePath(name)) }
    }

    @Test(
        "Names that only begin like reserved ones are not",
        arguments: [".shareserve2", ".shareserve.old", ".shareserv\u{E9}"])
    func notReserved(_ name: String) throws {
        let fixture = try Fixture()
        try fixture.share.createDirectory(at: SharePath(name))
        #expect(try fixture.list() == [name])
    }

    // MARK: - Rights

    private static let rules: [(path: SharePath, rights: Rights)] = [
        (.root, .readWrite), (SharePath("private"), .none), (SharePath("docs/old"), .readOnly),
    ]

    /// A share on a disk that is assumed to treat names as equal, or to tell them apart, with the same files.
    static func fixture(tellsApart: Bool, policy: RootPolicy = RootPolicy()) throws -> Fixture {
        var fixture = try Fixture(tellsApart ? .whole : .withoutCase, policy: policy)
        for member in ["PRIVATE/x", "private/x", "Docs/OLD/y", "docs/old/y", "open/z", "Secret.txt"] {
            try fixture.directory.write("content", to: member)
        }
        guard fixture.directory.names().contains("private"), fixture.directory.names().contains("PRIVATE") else {
            try Test.cancel("the file system ignores case")
        }
        fixture.share.rights = RightsMap(rules: Self.rules)
        return fixture
    }

    @Test("A rule holds in other letters through every operation")
    func everyOperation() throws {
        let fixture = try Self.fixture(tellsApart: false)
        let share = fixture.share
        let before = fixture.directory.contents()
        #expect(throws: RootError.notFound) { try share.open(SharePath("PRIVATE/x")) }
        #expect(throws: RootError.wouldBlock) { try share.open(SharePath("PRIVATE/x"), waiting: false) }
        #expect(throws: RootError.notFound) { try share.attributes(of: SharePath("PRIVATE/x")) }
        #expect(throws: RootError.notFound) { try share.list(SharePath("PRIVATE")) }
        #expect(throws: RootError.notFound) { try share.changes(in: SharePath("Private")) }
        #expect(throws: RootError.forbidden) { try fixture.put("/PRIVATE/x", "new") }
        #expect(throws: RootError.forbidden) { try fixture.put("/Private", "new") }
        #expect(throws: RootError.forbidden) { try fixture.put("/Docs/OLD/y", "new") }
        #expect(throws: RootError.forbidden) { try share.createDirectory(at: SharePath("PRIVATE/new")) }
        #expect(throws: RootError.notFound) { try fixture.remove("/PRIVATE/x") }
        #expect(throws: RootError.notFound) { try share.moveToTrash(SharePath("PRIVATE")) }
        #expect(throws: RootError.notFound) { try fixture.move("/PRIVATE/x", to: "/x") }
        #expect(throws: RootError.forbidden) { try fixture.move("/open/z", to: "/PRIVATE/z") }
        #expect(throws: RootError.notFound) { try fixture.copy("/PRIVATE/x", to: "/x") }
        #expect(throws: RootError.forbidden) { try fixture.copy("/open/z", to: "/PRIVATE/z") }
        #expect(throws: RootError.forbidden) {
            try share.createUpload(UploadSpec(target: SharePath("PRIVATE/z"), length: 1, replacing: .anything))
        }
        #expect(throws: RootError.notFound) { try share.lock(SharePath("PRIVATE/x"), Self.lock) }
        #expect(throws: RootError.notFound) { try share.updateProperties(of: SharePath("PRIVATE/x"), []) }
        #expect(throws: RootError.forbidden) { try share.setTimes(of: SharePath("PRIVATE/x"), modified: nil) }
        // A rule below the folder that is removed.
        #expect(throws: RootError.forbidden) { try fixture.remove("/Docs") }
        #expect(try fixture.list() == ["docs", "Docs", "open", "Secret.txt"])
        #expect(try fixture.get("/Docs/OLD/y") == "content")
        #expect(fixture.directory.contents().filter { !$0.key.contains(".shareserve") } == before)
        // The same for the walks of copies and archives.
        #expect(try fixture.copy("/Docs", to: "/copy").failures == [])
    }

    @Test("On a disk that tells names apart, rules hold as they are written")
    func asWritten() throws {
        let fixture = try Self.fixture(tellsApart: true)
        #expect(throws: RootError.notFound) { try fixture.get("/private/x") }
        #expect(try fixture.get("/PRIVATE/x") == "content")
        #expect(try !fixture.put("/PRIVATE/x", "new").created)
        #expect(try fixture.put("/Private", "new").created)
        #expect(try fixture.remove("/Docs") == [])
        #expect(throws: RootError.forbidden) { try fixture.remove("/docs") }
        #expect(try fixture.list() == ["docs", "open", "PRIVATE", "Private", "Secret.txt"])
    }

    @Test("A folder that is not there tells names apart as the one that it would be made in")
    func missingFolder() throws {
        var policy = RootPolicy()
        policy.hidden = ["secret*"]
        var fixture = try Self.fixture(tellsApart: true, policy: policy)
        fixture.share.rights = RightsMap(rules: [(.root, .readWrite), (SharePath("missing/old"), .none)])
        #expect(fixture.share.granted(at: SharePath("missing/Old/y")) == .readWrite)
        #expect(fixture.share.granted(at: SharePath("missing/old/y")) == .none)
        #expect(throws: RootError.parentMissing) { try fixture.put("/missing/Secret", "new") }
        #expect(throws: RootError.parentMissing) { try fixture.put("/missing/Old", "new") }
        fixture = try Self.fixture(tellsApart: false, policy: policy)
        fixture.share.rights = RightsMap(rules: [(.root, .readWrite), (SharePath("missing/old"), .none)])
        #expect(fixture.share.granted(at: SharePath("missing/Old/y")) == .none)
        #expect(throws: RootError.forbidden) { try fixture.put("/missing/Secret", "new") }
    }

    @Test("Of rules in several letters the least holds, and a deeper one goes before")
    func severalRules() throws {
        var fixture = try Self.fixture(tellsApart: false)
        fixture.share.rights = RightsMap(rules: [
            (.root, .readWrite), (SharePath("Docs"), .readWrite), (SharePath("docs"), .readOnly),
            (SharePath("docs/OLD"), .none), (SharePath("Open"), .none), (SharePath("open/z"), .readOnly),
        ])
        #expect(fixture.share.granted(at: SharePath("Docs/y")) == .readOnly)
        #expect(fixture.share.granted(at: SharePath("docs/y")) == .readOnly)
        #expect(fixture.share.granted(at: SharePath("DOCS/y")) == .readOnly)
        #expect(fixture.share.granted(at: SharePath("Docs/old/y")) == .none)
        #expect(fixture.share.granted(at: SharePath("open/z")) == .readOnly)
        #expect(fixture.share.granted(at: SharePath("open/y")) == .none)
        #expect(fixture.share.granted(at: SharePath("elsewhere")) == .readWrite)
    }

    @Test("A right that a rule gives in other letters is not had")
    func nothingIsGiven() throws {
        var fixture = try Self.fixture(tellsApart: false)
        fixture.share.rights = RightsMap(rules: [(SharePath("open"), .readWrite)])
        #expect(throws: RootError.notFound) { try fixture.get("/OPEN/z") }
        #expect(try fixture.get("/open/z") == "content")
    }

    @Test("Links lead to nothing that a rule in other letters keeps")
    func links() throws {
        let fixture = try Self.fixture(tellsApart: false)
        try fixture.directory.link("open/way", to: "../PRIVATE/x")
        #expect(throws: RootError.notFound) { try fixture.get("/open/way") }
        #expect(try fixture.list("/open") == ["z"])
    }

    private static let lock = LockRequest(isExclusive: true, isRecursive: true, owner: [], timeout: nil)

    // MARK: - Hidden names

    @Test("Hidden names are hidden in other letters where case is ignored, and only there", arguments: [false, true])
    func hidden(_ tellsApart: Bool) throws {
        var policy = RootPolicy()
        policy.hidden = ["secret*", "priv*"]
        let fixture = try Self.fixture(tellsApart: tellsApart, policy: policy)
        #expect(
            try fixture.list()
                == (tellsApart ? ["docs", "Docs", "open", "PRIVATE", "Secret.txt"] : ["docs", "Docs", "open"]))
        if tellsApart {
            #expect(try fixture.get("/Secret.txt") == "content")
            return
        }
        #expect(throws: RootError.notFound) { try fixture.get("/Secret.txt") }
        #expect(throws: RootError.wouldBlock) { try fixture.share.open(SharePath("Secret.txt"), waiting: false) }
        #expect(throws: RootError.forbidden) { try fixture.put("/SECRET.txt", "new") }
        #expect(throws: RootError.forbidden) { try fixture.remove("/Secret.txt") }
        #expect(throws: RootError.forbidden) { try fixture.copy("/open/z", to: "/Privy") }
    }

    // MARK: - Short names

    @Test(
        "A file whose own name has the form of a short one is served", arguments: [SystemUnderTest.whole, .withoutCase])
    func listedShortName(_ system: SystemUnderTest) throws {
        let fixture = try Fixture(system)
        #expect(try fixture.put("/PROGRA~1.TXT", "content").created)
        #expect(try fixture.get("/PROGRA~1.TXT") == "content")
        #expect(try fixture.move("/PROGRA~1.TXT", to: "/PROGRA~2.TXT").created)
        #expect(try fixture.remove("/PROGRA~2.TXT") == [])
    }
}
