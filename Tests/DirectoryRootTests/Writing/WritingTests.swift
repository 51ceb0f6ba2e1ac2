import DirectoryRoot
import Synchronization
import TestSupport
import Testing

@Suite("Writing") struct WritingTests {
    @Test("An upload shows only when it is whole", arguments: SystemUnderTest.allCases)
    func upload(_ system: SystemUnderTest) throws {
        let fixture = try Fixture(system)
        let upload = try fixture.share.beginUpload(to: SharePath(text: "/a.txt"), replacing: .nothing)
        try upload.write(Array("hello".utf8))
        #expect(try fixture.list() == [] && !fixture.directory.exists("a.txt"))
        let result = try upload.commit()
        #expect(result.created && result.attributes.size == 5)
        #expect(try fixture.get("/a.txt") == "hello")
        #expect(
            try fixture.share.attributes(of: SharePath(text: "/a.txt")).entityTag == result.attributes.entityTag)
        #expect(fixture.leftovers == [])
    }

    @Test("Replacing changes the whole content and the entity tag", arguments: SystemUnderTest.allCases)
    func replace(_ system: SystemUnderTest) throws {
        let fixture = try Fixture(system)
        let first = try fixture.put("/a.txt", "one")
        let open = try fixture.share.open(SharePath(text: "/a.txt"))
        let second = try fixture.put("/a.txt", "two")
        #expect(first.created && !second.created)
        #expect(first.attributes.entityTag != second.attributes.entityTag)
        #expect(fixture.directory.text("a.txt") == "two")
        var bytes = [UInt8](repeating: 0, count: 3)
        _ = try bytes.withUnsafeMutableBytes { try open.read(into: $0, at: 0) }
        #expect(bytes == Array("one".utf8))
        #expect(fixture.leftovers == [] && fixture.directory.names().filter { $0 != ".shareserve" } == ["a.txt"])
    }

    @Test(
        "Room that was taken ahead is given back where less came than was announced",
        arguments: SystemUnderTest.allCases)
    func shorterThanAnnounced(_ system: SystemUnderTest) throws {
        let fixture = try Fixture(system)
        let upload = try fixture.share.beginUpload(
            to: SharePath(text: "/a"), replacing: .nothing, size: 64 << 20)
        var expected: [UInt8] = []
        for byte in UInt8(1)...12 {
            let piece = [UInt8](repeating: byte, count: 300_000)
            try upload.write(piece)
            expected += piece
        }
        #expect(try upload.commit().attributes.size == 3_600_000)
        #expect(fixture.directory.read("a") == expected)
    }

    @Test("A dropped upload leaves nothing", arguments: SystemUnderTest.allCases)
    func abandon(_ system: SystemUnderTest) throws {
        let fixture = try Fixture(system)
        try fixture.put("/a.txt", "old")
        do {
            let upload = try fixture.share.beginUpload(to: SharePath(text: "/a.txt"), replacing: .anything)
            try upload.write(Array("new".utf8))
        }
        #expect(try fixture.get("/a.txt") == "old" && fixture.leftovers == [])
    }

    @Test("Preconditions hold at the start and again at the commit", arguments: SystemUnderTest.allCases)
    func preconditions(_ system: SystemUnderTest) throws {
        let fixture = try Fixture(system)
        let path = try SharePath(text: "/a.txt")
        let upload = try fixture.share.beginUpload(to: path, replacing: .nothing)
        let tag = try fixture.put("/a.txt", "first").attributes.entityTag
        #expect(throws: RootError.exists) { try upload.commit() }
        #expect(throws: RootError.exists) { try fixture.put("/a.txt", "x", replacing: .nothing) }
        let update = try fixture.share.beginUpload(to: path, replacing: .when { $0?.entityTag == tag })
        try fixture.put("/a.txt", "second")
        #expect(throws: RootError.preconditionFailed) { try update.commit() }
        #expect(throws: RootError.preconditionFailed) { try fixture.put("/a.txt", "x", replacing: .when { $0 == nil }) }
        #expect(try fixture.get("/a.txt") == "second")
    }

    @Test("Of two processes that replace one content the later is told so, also before there is any state")
    func twoProcesses() throws {
        let mine = try Fixture()
        let theirs = try Fixture(over: mine.directory)
        let tag = try mine.put("/a.txt", "old").attributes.entityTag
        let asked = Mutex(0)
        let replacing = Replacement.when { found in
            let count = asked.withLock { asked in
                asked += 1
                return asked
            }
            // The first question comes when the upload begins. The other client writes between the commit's check and
            // its rename.
            if count == 2 { _ = try? theirs.put("/a.txt", "theirs") }
            return found?.entityTag == tag
        }
        let upload = try mine.share.beginUpload(to: SharePath(text: "/a.txt"), replacing: replacing)
        try upload.write(Array("mine".utf8))
        #expect(throws: RootError.preconditionFailed) { _ = try upload.commit() }
        #expect(try mine.get("/a.txt") == "theirs")
    }

    @Test("Errors name the fact", arguments: SystemUnderTest.allCases) func errors(_ system: SystemUnderTest) throws {
        let fixture = try Fixture(system)
        try fixture.directory.write("x", to: "file")
        try fixture.directory.makeDirectory("folder")
        #expect(throws: RootError.parentMissing) { try fixture.put("/none/a", "x") }
        #expect(throws: RootError.parentMissing) { try fixture.put("/file/a", "x") }
        #expect(throws: RootError.isDirectory) { try fixture.put("/folder", "x") }
        #expect(throws: RootError.isDirectory) { try fixture.put("/", "x") }
        #expect(throws: RootError.forbidden) { try fixture.put("/.shareserve/a", "x") }
        #expect(throws: RootError.forbidden) { try fixture.put("/folder/.shareserve-1", "x") }
        #expect(throws: RootError.exists) { try fixture.share.createDirectory(at: SharePath(text: "/folder")) }
        #expect(throws: RootError.exists) { try fixture.share.createDirectory(at: SharePath(text: "/file")) }
        #expect(throws: RootError.exists) { try fixture.share.createDirectory(at: .root) }
        #expect(throws: RootError.parentMissing) { try fixture.share.createDirectory(at: SharePath(text: "/x/y")) }
        try fixture.share.createDirectory(at: SharePath(text: "/folder/new"))
        #expect(fixture.directory.exists("folder/new"))
    }

    @Test("Times are kept as asked") func times() throws {
        let fixture = try Fixture()
        let path = try SharePath(text: "/a.txt")
        let upload = try fixture.share.beginUpload(to: path, replacing: .nothing)
        upload.setModified(Timestamp(seconds: 1_000_000_000, nanoseconds: 123_456_789))
        #expect(try upload.commit().attributes.modified == Timestamp(seconds: 1_000_000_000, nanoseconds: 123_456_789))
        try fixture.share.setTimes(of: path, modified: Timestamp(seconds: 5), accessed: Timestamp(seconds: 7))
        let attributes = try fixture.share.attributes(of: path)
        #expect(attributes.modified == Timestamp(seconds: 5) && attributes.accessed == Timestamp(seconds: 7))
    }

    @Test("A share that is read-only refuses every change") func readOnly() throws {
        var policy = RootPolicy()
        policy.isReadOnly = true
        let fixture = try Fixture(policy: policy)
        try fixture.directory.write("x", to: "a")
        #expect(throws: RootError.readOnly) { try fixture.put("/b", "x") }
        #expect(throws: RootError.readOnly) { try fixture.remove("/a") }
        #expect(throws: RootError.readOnly) { try fixture.move("/a", to: "/b") }
        #expect(throws: RootError.readOnly) { try fixture.copy("/a", to: "/b") }
        #expect(throws: RootError.readOnly) { try fixture.share.createDirectory(at: SharePath(text: "/c")) }
        #expect(throws: RootError.readOnly) { try fixture.share.setTimes(of: SharePath(text: "/a"), modified: nil) }
        #expect(fixture.directory.names() == ["a"])
    }

    @Test("More than the largest upload is refused") func tooLarge() throws {
        var policy = RootPolicy()
        policy.maxUploadSize = 4
        let fixture = try Fixture(policy: policy)
        #expect(throws: RootError.overLimit(4)) { try fixture.put("/a", "12345") }
        #expect(throws: RootError.overLimit(4)) {
            try fixture.share.beginUpload(to: SharePath(text: "/a"), replacing: .anything, size: 5)
        }
        try fixture.put("/a", "1234")
        #expect(throws: RootError.noSpace) {
            var policy = RootPolicy()
            policy.minFreeSpace = .max
            try Fixture(policy: policy).put("/b", "x")
        }
    }
}
