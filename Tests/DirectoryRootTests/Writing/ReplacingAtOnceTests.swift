import CSyscalls
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

/// Small uploads over files of a share in memory, without waiting.
@Suite("Replacing at once") struct ReplacingAtOnceTests {
    /// A share in which `/file` has been replaced before: other processes are kept out from then on.
    private func used(_ policy: RootPolicy = RootPolicy()) throws -> Fixture {
        let fixture = try Fixture.memory(policy)
        for content in ["first", "old"] { try fixture.put("/file", content) }
        return fixture
    }

    private func currentTag(_ file: String, in fixture: Fixture) throws -> EntityTag {
        try fixture.share.attributes(of: SharePath(text: file)).entityTag
    }

    @Test("A file is replaced whole, with the attributes that were told")
    func replaced() throws {
        let fixture = try used()
        let reader = try fixture.share.open(SharePath(text: "/file"))
        // First guessed to be free, then found to be taken, then known to be.
        for content in ["one", "two", "three", ""] {
            let written = try #require(try fixture.putAtOnce("/file", content))
            let found = try fixture.share.attributes(of: SharePath(text: "/file"))
            #expect(!written.created && written.attributes.entityTag == found.entityTag)
            #expect(written.attributes.modified == found.modified && found.size == Int64(content.utf8.count))
            #expect(try fixture.get("/file") == content)
        }
        #expect(try reader.attributes.size == 3 && reader.attributes.entityTag != currentTag("/file", in: fixture))
        #expect(try fixture.putAtOnce("/new", "new")?.created == true)
        #expect(try fixture.list() == ["file", "new"] && fixture.leftovers == [])
    }

    @Test("Two contents that follow one another have two entity tags")
    func tags() throws {
        let fixture = try used()
        var tags: Set<EntityTag> = []
        for _ in 0..<50 { tags.insert(try #require(try fixture.putAtOnce("/file", "same")).attributes.entityTag) }
        #expect(tags.count == 50)
    }

    @Test("The permissions of the file that was there stay")
    func permissions() throws {
        let fixture = try used()
        for mode: UInt32 in [0o600, 0o644, 0o755] {
            try fixture.directory.setMode(mode, of: "file")
            #expect(try fixture.putAtOnce("/file") != nil)
            #expect(fixture.directory.mode(of: "file") == mode)
        }
    }

    @Test("Another name of the file keeps the old content")
    func secondName() throws {
        let fixture = try used()
        let (file, other) = (fixture.directory.path(of: "file"), fixture.directory.path(of: "other"))
        #expect(sys_linkat(AT_FDCWD, file, AT_FDCWD, other) == 0)
        #expect(try fixture.putAtOnce("/file") != nil)
        #expect(try fixture.get("/file") == "new" && fixture.get("/other") == "old")
    }

    @Test("Preconditions and rights hold")
    func refused() throws {
        let fixture = try used()
        let tag = try currentTag("/file", in: fixture)
        #expect(try fixture.putAtOnce("/file", replacing: .nothing) == nil)
        #expect(try fixture.putAtOnce("/file", replacing: .when { $0?.entityTag != tag }) == nil)
        var share = fixture.share
        share.rights = RightsMap(rules: [(.root, [.read, .create])])
        #expect(try fixture.putAtOnce("/file", in: share) == nil)
        #expect(try currentTag("/file", in: fixture) == tag && fixture.get("/file") == "old" && fixture.leftovers == [])
        #expect(try fixture.putAtOnce("/file", replacing: .when { $0?.entityTag == tag }) != nil)
        #expect(try fixture.putAtOnce("/file", replacing: .when { $0?.entityTag == tag }) == nil)
    }

    @Test("A lock is in the way, and its token opens it")
    func locked() throws {
        let fixture = try used()
        let request = LockRequest(isExclusive: true, isRecursive: false, owner: [], timeout: nil)
        let lock = try fixture.share.lock(SharePath(text: "/file"), request).lock
        #expect(try fixture.putAtOnce("/file") == nil)
        var share = fixture.share
        share.tokens = [lock.token]
        #expect(try fixture.putAtOnce("/file", in: share)?.created == false)
        #expect(try fixture.get("/file") == "new")
    }

    @Test("What only those who may wait can replace is left to them")
    func others() throws {
        let fixture = try used()
        try fixture.directory.makeDirectory("folder")
        try fixture.directory.link("link", to: "file")
        try fixture.directory.makeFIFO("pipe")
        try fixture.directory.write(String(repeating: "x", count: 2 << 20), to: "large")
        for name in ["folder", "link", "pipe", "large"] {
            #expect(try fixture.putAtOnce("/\(name)") == nil, "\(name)")
        }
        #expect(fixture.directory.names(in: "folder") == [] && fixture.leftovers == [])
        #expect(
            try fixture.get("/link") == "old"
                && fixture.share.attributes(of: SharePath(text: "/large")).size == 2 << 20)
    }

    @Test("What a policy keeps or refuses is left to those who may wait")
    func policies() throws {
        for change in [{ (policy: inout RootPolicy) in policy.trashDays = 1 }, { $0.refusesOverwrite = true }] {
            var policy = RootPolicy()
            change(&policy)
            let fixture = try Fixture.memory(policy)
            let plain = try Fixture(over: fixture.directory)
            for content in ["first", "old"] { try plain.put("/file", content) }
            #expect(try fixture.putAtOnce("/file") == nil)
            #expect(try fixture.get("/file") == "old")
            #expect(try plain.putAtOnce("/file") != nil)
        }
    }

    @Test("A file that may have properties is left to those who may wait, who keep them")
    func properties() throws {
        let fixture = try used()
        let path = try SharePath(text: "/file")
        #expect(try fixture.putAtOnce("/file") != nil)
        let property = DeadProperty(name: PropertyName(namespace: "u", local: "p"), xml: Array("<p/>".utf8))
        try fixture.share.updateProperties(of: path, [.set(property)])
        for content in ["1", "2"] {
            #expect(try fixture.putAtOnce("/file") == nil)
            try fixture.put("/file", content)
            #expect(try fixture.share.properties(of: path) == [property])
        }
        #expect(try fixture.putAtOnce("/new")?.created == true)
    }

    @Test("What another process brings is seen by an upload that looks at little")
    func glance() throws {
        let clock = TestClock()
        clock.turn(by: 1_000_000_000)
        let fixture = try Fixture.memory(clock: clock.clock)
        let other = try Fixture(over: fixture.directory, clock: clock.clock)
        for content in ["first", "old"] { try fixture.put("/file", content) }
        // The second attempt knows what the first one looked up.
        func replaceTwice() throws {
            for content in ["1", "2"] { #expect(try fixture.putAtOnce("/file", content) != nil) }
            try Fixture.passTick()
        }
        try replaceTwice()
        let path = try SharePath(text: "/file")
        let lock = try other.share.lock(
            path, LockRequest(isExclusive: true, isRecursive: false, owner: [], timeout: nil)
        ).lock
        #expect(try fixture.putAtOnce("/file") == nil)
        try other.share.unlock(path, token: lock.token)
        fixture.removeBehindItsBack(".shareserve/locks")
        try replaceTwice()
        let property = DeadProperty(name: PropertyName(namespace: "u", local: "p"), xml: Array("<p/>".utf8))
        try other.share.updateProperties(of: path, [.set(property)])
        #expect(try fixture.putAtOnce("/file") == nil)
        #expect(try fixture.get("/file") == "2")
    }

    @Test("The folder for what has no name yet is made again when it is gone, and left when it is elsewhere")
    func withoutScratch() throws {
        let fixture = try used()
        let scratch = fixture.directory.path(of: ".shareserve/tmp")
        #expect(rmdir(scratch) == 0)
        #expect(try fixture.putAtOnce("/file", "1") != nil)
        #expect(try fixture.get("/file") == "1" && fixture.directory.exists(".shareserve/tmp"))
        #expect(sys_renameat(AT_FDCWD, scratch, AT_FDCWD, fixture.directory.path(of: "away")) == 0)
        #expect(try fixture.putAtOnce("/file", "2") != nil)
        #expect(try fixture.get("/file") == "2" && fixture.leftovers == [] && fixture.directory.names(in: "away") == [])
    }

    @Test("While another process changes names it does not wait")
    func busy() throws {
        let fixture = try used()
        #expect(try fixture.putAtOnce("/file") != nil)
        let other = sys_openat(AT_FDCWD, fixture.directory.path(of: ".shareserve/commit"), O_RDWR, 0)
        #expect(other >= 0)
        #expect(sys_lock(other, sys_lock_exclusive, 0) == 0)
        #expect(try fixture.putAtOnce("/file") == nil)
        // A child process of another test may hold the descriptor too for a moment.
        #expect(sys_lock(other, sys_lock_none, 0) == 0)
        _ = sys_close(other)
        #expect(try fixture.putAtOnce("/file") != nil)
    }

    @Test("Of two processes that count in one file at once, none loses a step of the other")
    func counting() async throws {
        let fixture = try Fixture.memory()
        for content in ["first", "0"] { try fixture.put("/count", content) }
        let steps = 100
        let processes = [fixture, try Fixture(over: fixture.directory)]
        let path = try SharePath(text: "/count")
        try await withThrowingTaskGroup(of: Void.self) { group in
            for process in processes {
                group.addTask {
                    for _ in 0..<steps { while try !Self.count(path, in: process) {} }
                }
            }
            try await group.waitForAll()
        }
        #expect(try fixture.get("/count") == "\(2 * steps)" && fixture.leftovers == [])
    }

    /// Adds one to the number in a file.
    /// - Returns: false when another writer has done so meanwhile.
    private static func count(_ path: SharePath, in process: Fixture) throws -> Bool {
        let entry = try process.share.open(path)
        var digits = [UInt8](repeating: 0, count: 8)
        let count = try digits.withUnsafeMutableBytes { try entry.read(into: $0, at: 0) }
        let number = try #require(Int(String(decoding: digits[..<count], as: UTF8.self)))
        let next = "\(number + 1)"
        let tag = entry.attributes.entityTag
        let isSame: @Sendable (FileAttributes?) -> Bool = { $0?.entityTag == tag }
        let written = process.share.writeAtOnce(path, Array(next.utf8), replacing: .when(isSame), modified: nil)
        if written != nil { return true }
        let usual = Result { try process.put("/count", next, replacing: .when(isSame)) }
        if case .failure(let error as RootError) = usual, error == .preconditionFailed { return false }
        return try !usual.get().created
    }
}
