import DirectoryRoot
import TestSupport
import Testing

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

@Suite("Policy and rights") struct PolicyTests {
    @Test("No deletes, no overwrites") func refusals() throws {
        var policy = RootPolicy()
        policy.refusesDelete = true
        policy.refusesOverwrite = true
        let fixture = try Fixture(policy: policy)
        try fixture.put("/a", "one")
        try fixture.directory.write("x", to: "dir/file")
        #expect(throws: RootError.forbidden) { try fixture.put("/a", "two") }
        #expect(throws: RootError.forbidden) { try fixture.remove("/a") }
        #expect(throws: RootError.forbidden) { try fixture.move("/a", to: "/b") }
        #expect(throws: RootError.forbidden) { try fixture.copy("/a", to: "/dir") }
        #expect(throws: RootError.forbidden) { try fixture.copy("/dir", to: "/a") }
        #expect(try fixture.copy("/a", to: "/b").created && fixture.get("/a") == "one")
    }

    @Test("Only the allowed extensions for new files") func extensions() throws {
        var policy = RootPolicy()
        policy.allowedExtensions = ["txt", "tar.gz"]
        let fixture = try Fixture(policy: policy)
        try fixture.put("/a.txt", "x")
        try fixture.put("/B.TXT", "x")
        try fixture.put("/c.tar.gz", "x")
        let refused = RootError.endingRefused(allowed: ["txt", "tar.gz"])
        for name in ["/a", "/a.exe", "/.txt", "/txt", "/a.txt.exe", "/a.gz"] {
            #expect(throws: refused) { try fixture.put(name, "x") }
            #expect(throws: refused) { try fixture.move("/a.txt", to: name) }
            #expect(throws: refused) { try fixture.copy("/a.txt", to: name) }
        }
        try fixture.share.createDirectory(at: SharePath(text: "/folder"))
        #expect(try fixture.move("/folder", to: "/other").created)
    }

    @Test("Apple's files are taken unless refused") func appleFiles() throws {
        let open = try Fixture()
        try open.put("/.DS_Store", "x")
        try open.put("/._a", "x")
        var policy = RootPolicy()
        policy.refusesAppleFiles = true
        let fixture = try Fixture(policy: policy)
        try fixture.directory.write("x", to: "._b")
        #expect(throws: RootError.forbidden) { try fixture.put("/.DS_Store", "x") }
        #expect(throws: RootError.forbidden) { try fixture.put("/._a", "x") }
        #expect(throws: RootError.notFound) { try fixture.get("/._b") }
        #expect(try fixture.list() == [])
    }

    @Test("The deepest rule wins, and the way to something readable shows") func deepestRule() throws {
        var fixture = try Fixture()
        try fixture.directory.write("p", to: "public/file")
        try fixture.directory.write("s", to: "private/file")
        try fixture.directory.write("o", to: "private/open/file")
        try fixture.directory.write("d", to: "drop/file")
        fixture.share.rights = RightsMap(rules: [
            (try SharePath(text: "/public"), .readOnly),
            (try SharePath(text: "/private/open"), .readWrite),
            (try SharePath(text: "/drop"), .dropBox),
        ])
        #expect(try fixture.list() == ["public", "private", "drop"])
        #expect(try fixture.list("/private") == ["open"])
        #expect(try fixture.get("/private/open/file") == "o" && fixture.get("/public/file") == "p")
        #expect(throws: RootError.notFound) { try fixture.get("/private/file") }
        #expect(throws: RootError.notFound) { try fixture.get("/private/none") }
        #expect(throws: RootError.forbidden) { try fixture.put("/public/new", "x") }
        #expect(throws: RootError.forbidden) { try fixture.put("/public/file", "x") }
        #expect(throws: RootError.forbidden) { try fixture.put("/private/new", "x") }
        #expect(throws: RootError.forbidden) { try fixture.remove("/public/file") }
        #expect(throws: (any Error).self) { try fixture.remove("/private") }
        #expect(throws: (any Error).self) { try fixture.move("/private/open", to: "/public/x") }
        #expect(try fixture.put("/private/open/new", "x").created)
        #expect(throws: RootError.selfReference) { try fixture.copy("/private/open", to: "/private/open/copy") }
        #expect(throws: (any Error).self) { try fixture.copy("/private", to: "/public/copy") }
    }

    @Test("A drop box takes files and shows nothing") func dropBox() throws {
        var fixture = try Fixture()
        try fixture.directory.write("d", to: "drop/there")
        try fixture.directory.makeDirectory("drop/folder")
        fixture.share.rights = RightsMap(rules: [(try SharePath(text: "/drop"), .dropBox)])
        #expect(try fixture.put("/drop/new", "x").created)
        #expect(throws: RootError.forbidden) { try fixture.put("/drop/there", "x") }
        #expect(throws: RootError.forbidden) { try fixture.get("/drop/there") }
        // A PUT would reveal that the name is free.
        #expect(throws: RootError.notFound) { try fixture.get("/drop/none") }
        #expect(throws: RootError.forbidden) { try fixture.remove("/drop/there") }
        #expect(try fixture.list("/drop") == [] && fixture.directory.text("drop/there") == "d")
        #expect(try fixture.share.attributes(of: SharePath(text: "/drop")).isDirectory)
    }

    @Test("A tree with a protected part is not removed, moved or replaced") func protectedPart() throws {
        var fixture = try Fixture()
        try fixture.directory.write("k", to: "tree/kept/file")
        try fixture.directory.write("n", to: "new/file")
        fixture.share.rights = RightsMap(rules: [
            (.root, .readWrite), (try SharePath(text: "/tree/kept"), .readOnly),
        ])
        #expect(throws: RootError.forbidden) { try fixture.remove("/tree") }
        #expect(throws: RootError.forbidden) { try fixture.move("/tree", to: "/x") }
        #expect(throws: RootError.forbidden) { try fixture.move("/new", to: "/tree") }
        #expect(throws: RootError.forbidden) { try fixture.copy("/new", to: "/tree") }
        #expect(fixture.directory.text("tree/kept/file") == "k")
    }

    @Test("Who may do nothing at a place learns from no precondition what is there", arguments: ["there", "missing"])
    func nothingIsLearned(_ name: String) throws {
        var fixture = try Fixture()
        try fixture.put("/a", "a")
        try fixture.directory.write("content", to: "private/there")
        fixture.share.rights = RightsMap(rules: [(.root, .readWrite), (SharePath("private"), .none)])
        let target = "/private/\(name)"
        #expect(throws: RootError.forbidden) { try fixture.put(target, "new", replacing: .nothing) }
        #expect(throws: RootError.forbidden) { try fixture.copy("/a", to: target, replacing: .nothing) }
        #expect(throws: RootError.forbidden) { try fixture.move("/a", to: target, replacing: .nothing) }
        #expect(throws: RootError.forbidden) {
            try fixture.share.createUpload(
                UploadSpec(target: SharePath("private/\(name)"), length: 1, replacing: .nothing))
        }
        #expect(throws: RootError.forbidden) { try fixture.share.createDirectory(at: SharePath("private/\(name)")) }
        #expect(throws: RootError.forbidden) {
            try fixture.put(target, "new", replacing: .when { _ in false })
        }
        #expect(throws: RootError.notFound) { try fixture.remove(target) }
        #expect(throws: RootError.notFound) { try fixture.move(target, to: "/b") }
    }

    @Test("A link gives no more rights than what it leads to") func rightsThroughLinks() throws {
        var fixture = try Fixture()
        try fixture.directory.write("s", to: "private/file")
        try fixture.directory.makeDirectory("mine")
        try fixture.directory.link("mine/door", to: "../private")
        try fixture.directory.link("mine/file", to: "../private/file")
        fixture.share.rights = RightsMap(rules: [(try SharePath(text: "/mine"), .readWrite)])
        #expect(throws: (any Error).self) { try fixture.get("/mine/door/file") }
        #expect(throws: (any Error).self) { try fixture.get("/mine/file") }
        #expect(throws: (any Error).self) { try fixture.put("/mine/door/new", "x") }
        #expect(throws: (any Error).self) { try fixture.put("/mine/file", "x") }
        #expect(throws: (any Error).self) { try fixture.remove("/mine/door/file") }
        #expect(try fixture.list("/mine") == [] && fixture.directory.text("private/file") == "s")
    }

    @Test("A copy holds nothing that may not be read where a link in it leads") func copyThroughLinks() throws {
        var fixture = try Fixture()
        try fixture.directory.write("open", to: "other/file")
        try fixture.directory.write("secret", to: "other/private/deep/file")
        try fixture.directory.makeDirectory("tree")
        try fixture.directory.link("tree/door", to: "../other")
        fixture.share.rights = RightsMap(rules: [
            (.root, .readWrite), (try SharePath(text: "/other/private"), .none),
        ])
        #expect(try fixture.copy("/tree", to: "/copy").created)
        #expect(fixture.directory.text("copy/door/file") == "open")
        #expect(!fixture.directory.exists("copy/door/private"))
    }

    @Test("A folder is not put where a part of it would come to a protected place") func protectedTarget() throws {
        var fixture = try Fixture()
        try fixture.directory.write("n", to: "new/kept/file")
        try fixture.put("/file", "f")
        fixture.share.rights = RightsMap(rules: [
            (.root, .readWrite), (try SharePath(text: "/tree/kept"), .readOnly),
            (try SharePath(text: "/file/kept"), .none),
        ])
        #expect(throws: RootError.forbidden) { try fixture.move("/new", to: "/tree") }
        #expect(throws: RootError.forbidden) { try fixture.copy("/new", to: "/tree") }
        #expect(throws: RootError.forbidden) { try fixture.move("/new", to: "/file") }
        #expect(throws: RootError.forbidden) { try fixture.copy("/new", to: "/file") }
        #expect(!fixture.directory.exists("tree") && fixture.directory.text("file") == "f")
        #expect(try fixture.move("/new", to: "/elsewhere").created)
    }

    @Test("A view of a folder or of one file has nothing beside or above it") func base() throws {
        let fixture = try Fixture()
        try fixture.directory.write("in", to: "a/file")
        try fixture.directory.write("out", to: "b/file")
        try fixture.directory.link("a/out", to: "../b/file")
        try fixture.directory.link("a/in", to: "file")
        var view = fixture
        view.share.base = try SharePath(text: "/a")
        #expect(try view.list() == ["file", "in"] && view.get("/in") == "in")
        #expect(throws: RootError.notFound) { try view.get("/out") }
        #expect(throws: RootError.notFound) { try view.get("/b/file") }
        #expect(throws: RootError.forbidden) { try view.put("/out", "x") }
        #expect(throws: RootError.selfReference) { try view.remove("/") }
        #expect(try view.put("/new", "x").created && fixture.directory.text("a/new") == "x")
        view.share.base = try SharePath(text: "/a/file")
        #expect(try view.get("/") == "in")
        #expect(throws: RootError.notFound) { try view.get("/file") }
        #expect(throws: RootError.notDirectory) { try view.list() }
    }

    @Test("An open entry is believed only while nothing changed", arguments: ["f", "d/f"])
    func revalidation(name: String) throws {
        let fixture = try Fixture()
        try fixture.directory.makeDirectory("d")
        try fixture.put("/" + name, "one")
        let path = try SharePath(text: "/" + name)
        _ = try fixture.share.open(path)
        func isHeld(_ entry: Entry) -> Bool {
            name.withCString { fixture.share.root.holds(entry, at: $0, isNested: path.depth > 1) }
        }
        let entry = try fixture.share.open(path, waiting: false)
        #expect(isHeld(entry))
        try fixture.put("/" + name, "two")
        #expect(!isHeld(entry))
        let second = try fixture.share.open(path, waiting: false)
        #expect(isHeld(second))
        _ = try fixture.remove("/" + name)
        #expect(!isHeld(second))
    }

    @Test("An open entry is not believed where its directory gave its place to a link") func swappedDirectory() throws {
        let outside = try TemporaryDirectory()
        let fixture = try Fixture()
        try fixture.directory.makeDirectory("d")
        try fixture.put("/d/f", "one")
        let path = try SharePath(text: "/d/f")
        _ = try fixture.share.open(path)
        let entry = try fixture.share.open(path, waiting: false)
        #expect(fixture.share.root.holds(entry, at: "d/f", isNested: true))
        let (from, to) = (fixture.directory.path(of: "d"), outside.path(of: "d"))
        #expect(rename(from, to) == 0 && symlink(to, from) == 0)
        #expect(!fixture.share.root.holds(entry, at: "d/f", isNested: true))
    }
}
