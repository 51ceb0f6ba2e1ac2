import DirectoryRoot
import TestSupport
import Testing

/// Links that leave the root do not exist; links that stay inside count as their targets.
@Suite("Escapes") struct EscapeTests {
    /// A share and, beside it, a directory that must not be reachable.
    struct Scene {
        let fixture: Fixture
        let outside: TemporaryDirectory

        init(_ system: SystemUnderTest) throws {
            fixture = try Fixture(system)
            outside = try TemporaryDirectory()
            try outside.write("secret", to: "secret.txt")
            try outside.write("secret", to: "sub/deep.txt")
            let directory = fixture.directory
            try directory.write("inside", to: "real/file.txt")
            let name = outside.path.split(separator: "/").last.map(String.init) ?? ""
            try directory.link("dir-absolute", to: outside.path)
            try directory.link("dir-relative", to: "../\(name)")
            try directory.link("real/dir-up", to: "../../\(name)")
            try directory.link("file-absolute", to: outside.path(of: "secret.txt"))
            try directory.link("file-relative", to: "../\(name)/secret.txt")
            try directory.link("dangling-inside", to: "not-there")
            try directory.link("dangling-outside", to: "../\(name)/new.txt")
            try directory.link("dangling-absolute", to: outside.path(of: "new.txt"))
            try directory.link("root", to: "/")
            try directory.link("up", to: "..")
            try directory.link("inside-absolute", to: directory.path(of: "real"))
            try directory.link("loop", to: "loop")
            try directory.link("chain", to: "dir-relative")
            try directory.link("through-up", to: "real/../../\(name)/secret.txt")
            try directory.link("magic", to: "/proc/self/root")
        }

        /// Whether nothing outside was touched.
        var isIntact: Bool {
            outside.names() == ["secret.txt", "sub"] && outside.text("secret.txt") == "secret"
                && outside.names(in: "sub") == ["deep.txt"] && outside.text("sub/deep.txt") == "secret"
        }
    }

    static let outward = [
        "dir-absolute", "dir-relative", "real/dir-up", "file-absolute", "file-relative", "dangling-inside",
        "dangling-outside", "dangling-absolute", "root", "up", "inside-absolute", "loop", "chain", "through-up",
        "magic",
    ]

    @Test("An outward or dangling link does not exist for any operation", arguments: SystemUnderTest.allCases)
    func links(_ system: SystemUnderTest) throws {
        let scene = try Scene(system)
        let fixture = scene.fixture
        let share = fixture.share
        try fixture.directory.write("mine", to: "mine")
        for name in Self.outward {
            let path = try SharePath(text: "/\(name)")
            #expect(throws: RootError.notFound, "\(name)") { try share.open(path) }
            #expect(throws: RootError.notFound, "\(name)") { try share.attributes(of: path) }
            #expect(throws: RootError.notFound, "\(name)") { try share.list(path) }
            #expect(throws: RootError.notFound, "\(name)") { try share.space(at: path) }
            #expect(throws: RootError.forbidden, "\(name)") { try fixture.put("/\(name)", "written") }
            #expect(throws: RootError.forbidden, "\(name)") { try share.createDirectory(at: path) }
            #expect(throws: RootError.notFound, "\(name)") { try fixture.remove("/\(name)") }
            #expect(throws: RootError.notFound, "\(name)") { try fixture.move("/\(name)", to: "/stolen") }
            #expect(throws: RootError.notFound, "\(name)") { try fixture.copy("/\(name)", to: "/stolen") }
            #expect(throws: RootError.forbidden, "\(name)") { try fixture.move("/mine", to: "/\(name)") }
            #expect(throws: RootError.forbidden, "\(name)") { try fixture.copy("/mine", to: "/\(name)") }
            #expect(throws: RootError.notFound, "\(name)") {
                try share.setTimes(of: path, modified: Timestamp(seconds: 1))
            }
            #expect(throws: (any Error).self, "\(name)") { try share.updateProperties(of: path, []) }
        }
        #expect(scene.isIntact && fixture.directory.text("mine") == "mine")
        #expect(try fixture.list() == ["mine", "real"] && fixture.list("/real") == ["file.txt"])
    }

    @Test("Nothing below an outward link exists", arguments: SystemUnderTest.allCases)
    func ancestors(_ system: SystemUnderTest) throws {
        let scene = try Scene(system)
        let fixture = scene.fixture
        try fixture.directory.write("mine", to: "mine")
        for name in ["dir-absolute", "dir-relative", "real/dir-up", "chain", "up", "root"] {
            for member in ["secret.txt", "sub", "sub/deep.txt", "new.txt", "etc/passwd"] {
                let path = "/\(name)/\(member)"
                #expect(throws: RootError.notFound) { try fixture.get(path) }
                #expect(throws: RootError.parentMissing) { try fixture.put(path, "written") }
                #expect(throws: RootError.parentMissing) {
                    try fixture.share.createDirectory(at: SharePath(text: path))
                }
                #expect(throws: RootError.notFound) { try fixture.remove(path) }
                #expect(throws: RootError.notFound) { try fixture.move(path, to: "/stolen") }
                #expect(throws: RootError.notFound) { try fixture.copy(path, to: "/stolen") }
                #expect(throws: RootError.parentMissing) { try fixture.move("/mine", to: path) }
                #expect(throws: RootError.parentMissing) { try fixture.copy("/mine", to: path) }
            }
        }
        #expect(scene.isIntact)
    }

    @Test("A copied tree brings nothing from outside along", arguments: SystemUnderTest.allCases)
    func copyTree(_ system: SystemUnderTest) throws {
        let scene = try Scene(system)
        let fixture = scene.fixture
        try fixture.directory.makeDirectory("tree")
        for (number, target) in [scene.outside.path, scene.outside.path(of: "secret.txt"), "../../.."].enumerated() {
            try fixture.directory.link("tree/link-\(number)", to: target)
        }
        try fixture.directory.link("tree/good", to: "../real/file.txt")
        try fixture.directory.link("tree/good-dir", to: "../real")
        #expect(try fixture.copy("/tree", to: "/copied").failures == [])
        #expect(fixture.directory.names(in: "copied") == ["good", "good-dir"])
        #expect(fixture.directory.text("copied/good") == "inside")
        #expect(fixture.directory.text("copied/good-dir/file.txt") == "inside")
        try fixture.directory.link("tree/endless", to: "../tree")
        let path = try SharePath(text: "/tree/endless")
        #expect(
            try fixture.copy("/tree", to: "/again").failures == [MemberFailure(path: path, error: .selfReference)])
        #expect(try fixture.remove("/tree") == [] && scene.isIntact)
        #expect(fixture.directory.text("real/file.txt") == "inside")
    }

    @Test("Links inside the root work", arguments: SystemUnderTest.allCases)
    func inside(_ system: SystemUnderTest) throws {
        let fixture = try Fixture(system)
        let directory = fixture.directory
        try directory.write("content", to: "a/b/file")
        try directory.link("to-file", to: "a/b/file")
        try directory.link("to-dir", to: "a/b")
        try directory.link("a/up-and-down", to: "../a/./b/../b/file")
        try directory.link("to-link", to: "to-dir")
        try directory.link("here", to: ".")
        #expect(try fixture.get("/to-file") == "content" && fixture.get("/to-dir/file") == "content")
        #expect(try fixture.get("/a/up-and-down") == "content" && fixture.get("/to-link/file") == "content")
        #expect(try fixture.get("/here/here/a/b/file") == "content" && fixture.list("/to-dir") == ["file"])
        #expect(try fixture.list() == ["a", "to-file", "to-dir", "to-link", "here"])
        #expect(try !fixture.put("/to-file", "new").created)
        #expect(directory.text("a/b/file") == "new" && directory.isLink("to-file"))
        #expect(try fixture.put("/to-dir/other", "x").created && directory.text("a/b/other") == "x")
        #expect(try fixture.move("/to-link", to: "/renamed").created && fixture.list("/renamed") == ["file", "other"])
        #expect(try fixture.remove("/to-dir") == [] && fixture.remove("/to-file") == [])
        #expect(directory.text("a/b/file") == "new" && !directory.exists("to-dir") && !directory.exists("to-file"))
    }

    @Test("No link leads to what is hidden or reserved", arguments: SystemUnderTest.allCases)
    func hidden(_ system: SystemUnderTest) throws {
        var policy = RootPolicy()
        policy.hidden = ["*.key", "private"]
        let fixture = try Fixture(system, policy: policy)
        try fixture.directory.write("k", to: "server.key")
        try fixture.directory.write("p", to: "private/file")
        try fixture.directory.write("s", to: ".shareserve/state")
        for (name, target) in [
            ("one", "server.key"), ("two", "private"), ("three", "private/file"), ("four", ".shareserve"),
            ("five", ".shareserve/state"), ("here", "."),
        ] { try fixture.directory.link(name, to: target) }
        for path in [
            "/one", "/two", "/two/file", "/three", "/four", "/four/state", "/five", "/here/server.key",
            "/here/private/file", "/here/.shareserve/state", "/.shareserve", "/.shareserve/state", "/.SHARESERVE/state",
            "/server.key", "/private/file",
        ] {
            #expect(throws: RootError.notFound, "\(path)") { try fixture.get(path) }
            #expect(throws: (any Error).self, "\(path)") { try fixture.put(path, "x") }
            #expect(throws: (any Error).self, "\(path)") { try fixture.remove(path) }
            #expect(throws: (any Error).self, "\(path)") { try fixture.move(path, to: "/out") }
            #expect(throws: (any Error).self, "\(path)") { try fixture.copy(path, to: "/out") }
        }
        #expect(try fixture.list() == ["here"])
        #expect(fixture.directory.text(".shareserve/state") == "s" && fixture.directory.text("server.key") == "k")
        try fixture.share.createDirectory(at: SharePath(text: "/dir"))
        #expect(throws: RootError.forbidden) { try fixture.put("/dir/new.key", "x") }
        #expect(throws: RootError.forbidden) { try fixture.copy("/dir", to: "/private") }
        #expect(throws: RootError.forbidden) { try fixture.move("/dir", to: "/x.key") }
    }

    @Test("What is neither file nor folder does not exist", arguments: SystemUnderTest.allCases)
    func specialFiles(_ system: SystemUnderTest) throws {
        let fixture = try Fixture(system)
        try fixture.directory.makeFIFO("fifo")
        try fixture.directory.makeSocket("socket")
        try fixture.directory.link("to-fifo", to: "fifo")
        try fixture.directory.write("x", to: "file")
        for name in ["fifo", "socket", "to-fifo"] {
            #expect(throws: RootError.notFound) { try fixture.get("/\(name)") }
            #expect(throws: RootError.notFound) { try fixture.share.attributes(of: SharePath(text: "/\(name)")) }
            #expect(throws: RootError.forbidden) { try fixture.put("/\(name)", "x") }
            #expect(throws: (any Error).self) { try fixture.remove("/\(name)") }
            #expect(throws: (any Error).self) { try fixture.move("/\(name)", to: "/y") }
            #expect(throws: (any Error).self) { try fixture.copy("/file", to: "/\(name)") }
        }
        #expect(try fixture.list() == ["file"] && fixture.directory.exists("fifo"))
    }
}
