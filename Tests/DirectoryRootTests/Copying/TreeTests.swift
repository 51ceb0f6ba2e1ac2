import DirectoryRoot
import Synchronization
import TestSupport
import Testing

@Suite("Trees") struct TreeTests {
    func tree(_ fixture: Fixture) throws {
        try fixture.directory.write("1", to: "t/a/one")
        try fixture.directory.write("2", to: "t/a/b/two")
        try fixture.directory.makeDirectory("t/empty")
    }

    @Test("A tree is copied with all its members", arguments: SystemUnderTest.allCases)
    func copy(_ system: SystemUnderTest) throws {
        let fixture = try Fixture(system)
        try tree(fixture)
        let result = try fixture.copy("/t", to: "/u")
        #expect(result.created && result.failures == [])
        #expect(fixture.directory.text("u/a/one") == "1" && fixture.directory.text("u/a/b/two") == "2")
        #expect(try fixture.list("/u") == ["a", "empty"] && fixture.directory.text("t/a/one") == "1")
        #expect(fixture.leftovers == [])
    }

    @Test("A folder is replaced whole, without a merge", arguments: SystemUnderTest.allCases)
    func replace(_ system: SystemUnderTest) throws {
        let fixture = try Fixture(system)
        try tree(fixture)
        try fixture.directory.write("old", to: "u/old/file")
        #expect(throws: RootError.exists) { try fixture.copy("/t", to: "/u", replacing: .nothing) }
        let copied = try fixture.copy("/t", to: "/u")
        #expect(!copied.created && fixture.directory.names(in: "u") == ["a", "empty"])
        try fixture.directory.write("old", to: "v/old/file")
        #expect(throws: RootError.exists) { try fixture.move("/t", to: "/v", replacing: .nothing) }
        let moved = try fixture.move("/t", to: "/v")
        #expect(!moved.created && fixture.directory.names(in: "v") == ["a", "empty"])
        #expect(!fixture.directory.exists("t") && fixture.leftovers == [])
    }

    @Test("Files and folders take each other's place", arguments: SystemUnderTest.allCases)
    func kinds(_ system: SystemUnderTest) throws {
        let fixture = try Fixture(system)
        try tree(fixture)
        try fixture.directory.write("file", to: "f")
        #expect(try !fixture.copy("/f", to: "/t/a").created)
        #expect(fixture.directory.text("t/a") == "file")
        #expect(try !fixture.copy("/t", to: "/f").created)
        #expect(fixture.directory.text("f/a") == "file")
        try fixture.directory.write("g", to: "g")
        #expect(try !fixture.move("/g", to: "/f").created)
        #expect(fixture.directory.text("f") == "g" && !fixture.directory.exists("g"))
        #expect(try !fixture.move("/t", to: "/f").created)
        #expect(fixture.directory.text("f/a") == "file" && fixture.leftovers == [])
    }

    @Test("A copy comes back from a deep folder behind a link")
    func deepBehindLink() throws {
        let fixture = try Fixture()
        try fixture.directory.makeDeepTree("deep", levels: 40)
        for number in 0..<20 { try fixture.directory.write("x", to: "t/\(number)") }
        for number in 0..<4 { try fixture.directory.link("t/link \(number)", to: "../deep") }
        #expect(try fixture.copy("/t", to: "/u").failures == [])
        #expect(fixture.directory.names(in: "u").count == 24 && fixture.directory.depth(of: "u/link 3") == 40)
    }

    @Test("Links that lead on to folders with links do not multiply a copy", arguments: SystemUnderTest.allCases)
    func chainOfLinks(_ system: SystemUnderTest) throws {
        let fixture = try Fixture(system)
        for number in 1...12 {
            try fixture.directory.write("x", to: "t/\(number)/file")
            guard number < 12 else { break }
            for link in ["a", "b"] { try fixture.directory.link("t/\(number)/\(link)", to: "../\(number + 1)") }
        }
        let result = try fixture.copy("/t/1", to: "/u")
        #expect(result.created && !result.failures.isEmpty)
        #expect(result.failures.allSatisfy { $0.error == .selfReference })
        #expect(fixture.directory.contents(below: "u").count < 1_200)
        for place in ["", "a/", "b/", "a/a/", "a/b/", "b/a/", "b/b/"] {
            #expect(fixture.directory.text("u/\(place)file") == "x")
        }
        #expect(try fixture.copy("/t", to: "/v").created)
        #expect(fixture.directory.contents(below: "v").count < 1_300)
    }

    @Test("Folders that link each other all have what they link, as far as that is their own")
    func foldersThatLinkEachOther() throws {
        let fixture = try Fixture()
        for number in 1...9 {
            try fixture.directory.write("\(number)", to: "t/\(number)/file")
            try fixture.directory.makeDirectory("t/\(number)/needs")
            for other in 1...9 where other != number {
                try fixture.directory.link("t/\(number)/needs/\(other)", to: "../../\(other)")
            }
        }
        #expect(try fixture.copy("/t", to: "/u").created)
        for number in 1...9 {
            for other in 1...9 where other != number {
                #expect(fixture.directory.text("u/\(number)/needs/\(other)/file") == "\(other)")
            }
        }
        #expect(fixture.directory.contents(below: "u").count <= 9 + 4 * 9 * 8 + 1_000)
    }

    @Test("Packages that share a library with a link of its own are copied whole")
    func sharedLibrary() throws {
        let fixture = try Fixture()
        try fixture.directory.write("x", to: "assets/picture")
        try fixture.directory.makeDirectory("library")
        try fixture.directory.link("library/assets", to: "../assets")
        for number in 0..<200 {
            try fixture.directory.makeDirectory("all/\(number)")
            try fixture.directory.link("all/\(number)/library", to: "../../library")
        }
        #expect(try fixture.copy("/all", to: "/u").failures == [])
        for number in 0..<200 { #expect(fixture.directory.text("u/\(number)/library/assets/picture") == "x") }
    }

    @Test("Many links to one folder beside one another are all copied, and so they are behind another link")
    func linksBesideOneAnother() throws {
        let fixture = try Fixture()
        try fixture.directory.write("x", to: "store/file")
        for number in 0..<100 {
            try fixture.directory.makeDirectory("versions/1")
            try fixture.directory.link("versions/1/\(number)", to: "../../store")
        }
        for name in ["current", "stable"] { try fixture.directory.link("versions/\(name)", to: "1") }
        #expect(try fixture.copy("/versions", to: "/u").failures == [])
        #expect(fixture.directory.contents(below: "u").count == 300)
    }

    @Test("What can't be found again since its folder moves meanwhile is reported, and the rest is copied")
    func movedMeanwhile() throws {
        let fixture = try Fixture(.withNothing)
        let below = String(repeating: "/d", count: 40)
        let content = [UInt8](repeating: 1, count: 1 << 20)
        var failures: [MemberFailure] = []
        // On a busy machine a copy may be done before the folder moves.
        for round in 0..<20 where failures.isEmpty {
            let middle = "t\(round)" + String(repeating: "/d", count: 20)
            for number in 0..<64 { try fixture.directory.write(content, to: "\(middle + below)/\(number)") }
            let isOver = Atomic(false)
            let mover = Thread()
            mover.start {
                let bottom = (middle + below).drop { $0 != "/" }
                while !isOver.load(ordering: .acquiring) {
                    let copies = fixture.directory.names(in: ".shareserve/tmp")
                    guard copies.contains(where: { fixture.directory.exists(".shareserve/tmp/\($0)\(bottom)") }) else {
                        continue
                    }
                    try? fixture.directory.rename(middle, to: "moved \(round)")
                    return
                }
            }
            failures = try fixture.copy("/t\(round)", to: "/u").failures
            isOver.store(true, ordering: .releasing)
            mover.join()
            let copied = "u" + (middle + below).drop { $0 != "/" }
            #expect(fixture.directory.names(in: copied).count == 64 && fixture.leftovers == [])
            _ = try fixture.remove("/u")
        }
        #expect(failures.count == 1)
    }

    @Test("A move is a move", arguments: SystemUnderTest.allCases) func move(_ system: SystemUnderTest) throws {
        let fixture = try Fixture(system)
        try tree(fixture)
        #expect(try fixture.move("/t/a/one", to: "/t/uno").created)
        #expect(try fixture.move("/t/a", to: "/moved").created)
        #expect(fixture.directory.names(in: "t") == ["empty", "uno"] && fixture.directory.text("moved/b/two") == "2")
        #expect(throws: RootError.notFound) { try fixture.move("/none", to: "/x") }
        #expect(throws: RootError.parentMissing) { try fixture.move("/moved", to: "/x/y") }
    }

    @Test(
        "Into itself, onto itself, over what holds it: refused",
        arguments: [
            ("/t", "/t"), ("/t", "/t/a/new"), ("/t", "/t/a"), ("/t/a/b", "/t/a"), ("/", "/t"), ("/", "/new"),
            ("/t", "/"), ("/t/a/one", "/t/a/one"), ("/t", "/alias/new"),
        ])
    func selfReference(_ row: (String, String)) throws {
        let fixture = try Fixture()
        try tree(fixture)
        try fixture.directory.link("alias", to: "t/a")
        #expect(throws: RootError.selfReference) { try fixture.move(row.0, to: row.1) }
        #expect(throws: RootError.selfReference) { try fixture.copy(row.0, to: row.1) }
        #expect(fixture.directory.text("t/a/b/two") == "2" && fixture.leftovers == [])
    }

    @Test("A removed tree is gone entirely", arguments: SystemUnderTest.allCases)
    func remove(_ system: SystemUnderTest) throws {
        let fixture = try Fixture(system)
        try tree(fixture)
        #expect(try fixture.remove("/t/a/one") == [] && fixture.remove("/t/empty") == [])
        #expect(fixture.directory.names(in: "t/a") == ["b"])
        #expect(try fixture.remove("/t") == [])
        #expect(try fixture.list() == [] && fixture.leftovers == [])
        #expect(throws: RootError.notFound) { try fixture.remove("/t") }
        #expect(throws: RootError.selfReference) { try fixture.remove("/") }
    }

    @Test("Hard links of one file: a move over the other leaves one name", arguments: SystemUnderTest.allCases)
    func hardLinks(_ system: SystemUnderTest) throws {
        let fixture = try Fixture(system)
        try fixture.directory.write("same", to: "a")
        try fixture.directory.hardLink("b", to: "a")
        #expect(try !fixture.move("/a", to: "/b").created)
        #expect(try fixture.list() == ["b"] && fixture.get("/b") == "same")
    }

    @Test("A tree of 3,000 levels is copied, moved and removed") func deep() throws {
        let fixture = try Fixture()
        try fixture.directory.makeDeepTree("deep", levels: 3_000)
        #expect(try fixture.copy("/deep", to: "/copy").failures == [])
        #expect(try fixture.move("/copy", to: "/moved").created)
        #expect(fixture.directory.depth(of: "moved") == 3_000)
        #expect(try fixture.remove("/moved") == [] && fixture.remove("/deep") == [])
        #expect(try fixture.list() == [] && fixture.leftovers == [])
    }

    @Test("A wide folder is copied and removed") func wide() throws {
        let fixture = try Fixture()
        for number in 0..<3_000 { try fixture.directory.write("\(number)", to: "w/\(number)") }
        #expect(try fixture.copy("/w", to: "/x").failures == [])
        #expect(fixture.directory.names(in: "x").count == 3_000 && fixture.directory.text("x/2999") == "2999")
        #expect(try fixture.remove("/x") == [] && !fixture.directory.exists("x"))
    }

    @Test("What a file system of FUSE may have left goes with a wide folder") func wideAndHidden() throws {
        let fixture = try Fixture()
        for number in 0..<10_000 { try fixture.directory.write("", to: "w/\(number)") }
        for number in 0..<20 { try fixture.directory.write("", to: "w/.fuse_hidden\(number)") }
        #expect(try fixture.remove("/w") == [] && !fixture.directory.exists("w"))
    }
}
