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

/// Small uploads into a share in memory, without waiting.
@Suite("Writing at once") struct WritingAtOnceTests {
    @Test("A new file is there whole, with the attributes that were told")
    func new() throws {
        let fixture = try Fixture.memory()
        try fixture.directory.makeDirectory("folder")
        let made = try fixture.putAtOnce("/folder/a", "content")
        let found = try fixture.share.attributes(of: SharePath(text: "/folder/a"))
        #expect(
            made?.attributes.entityTag == found.entityTag && made?.attributes.modified == found.modified
                && found.size == 7)
        #expect(try fixture.get("/folder/a") == "content" && fixture.leftovers == [])
        #expect(try fixture.putAtOnce("/folder/empty", "")?.attributes.size == 0)
        #expect(try fixture.list("/folder") == ["a", "empty"])
    }

    @Test("A name that the disk must be asked about is left to those who may wait")
    func otherSpellings() throws {
        var policy = RootPolicy()
        policy.hidden = ["secret*"]
        var fixture = try Fixture.memory(policy)
        fixture.share.rights = RightsMap(rules: [(.root, .readWrite), (try SharePath(text: "/private"), .none)])
        for path in ["/Private", "/Secret", "/LONGNA~1.TXT"] {
            #expect(try fixture.putAtOnce(path) == nil, "\(path)")
            #expect(try fixture.put(path, "content").created, "\(path)")
        }
        #expect(try fixture.putAtOnce("/other") != nil)
    }

    @Test("What is there already is left to those who may wait, as long as no other process is kept out")
    func taken() throws {
        let fixture = try Fixture.memory()
        try fixture.put("/file", "old")
        try fixture.directory.makeDirectory("folder")
        try fixture.directory.link("link", to: "folder")
        for path in ["/file", "/folder", "/link", "/link/below", "/missing/below", "/file/below", "/"] {
            #expect(try fixture.putAtOnce(path) == nil, "\(path)")
        }
        #expect(try fixture.get("/file") == "old" && fixture.leftovers == [])
        #expect(fixture.directory.names(in: "folder") == [])
    }

    @Test("Preconditions, rights, hidden names and limits hold")
    func refused() throws {
        var policy = RootPolicy()
        policy.hidden = ["*.secret"]
        policy.maxUploadSize = 4
        let fixture = try Fixture.memory(policy)
        #expect(try fixture.putAtOnce("/a.secret") == nil)
        #expect(try fixture.putAtOnce("/.shareserve/a") == nil)
        #expect(try fixture.putAtOnce("/large", "12345") == nil)
        #expect(try fixture.putAtOnce("/a", replacing: .when { $0 != nil }) == nil)
        var share = fixture.share
        share.rights = RightsMap(rules: [(.root, .read)])
        #expect(try fixture.putAtOnce("/a", in: share) == nil)
        share = fixture.share
        share.precondition = { false }
        #expect(try fixture.putAtOnce("/a", in: share) == nil)
        #expect(try fixture.list() == [] && fixture.leftovers == [])
        // The same without the reason to refuse.
        #expect(try fixture.putAtOnce("/a", replacing: .when { $0 == nil }) != nil)
    }

    @Test("A lock is in the way, and its token opens it")
    func locked() throws {
        let fixture = try Fixture.memory()
        try fixture.directory.makeDirectory("folder")
        let request = LockRequest(isExclusive: true, isRecursive: true, owner: [], timeout: nil)
        let lock = try fixture.share.lock(SharePath(text: "/folder"), request).lock
        #expect(try fixture.putAtOnce("/folder/a") == nil)
        #expect(fixture.directory.names(in: "folder") == [])
        var share = fixture.share
        share.tokens = [lock.token]
        #expect(try fixture.putAtOnce("/folder/a", in: share) != nil)
    }

    @Test("What another process brings is seen by an upload that looks at little")
    func glance() throws {
        let clock = TestClock()
        clock.turn(by: 1_000_000_000)
        let fixture = try Fixture.memory(clock: clock.clock)
        try fixture.directory.makeDirectory("folder")
        let other = try Fixture(over: fixture.directory, clock: clock.clock)
        let target = try SharePath(text: "/folder")
        let request = LockRequest(isExclusive: true, isRecursive: true, owner: [], timeout: nil)
        var names: [String] = []
        for round in 0..<3 {
            for step in ["a", "b"] {
                // The second attempt knows what the first one looked up.
                for look in ["1", "2"] {
                    names.append("\(round)\(step)\(look)")
                    #expect(try fixture.putAtOnce("/folder/\(names.last ?? "")") != nil, "\(names)")
                }
                try Fixture.passTick()
                switch (round, step) {
                // A state folder appears without locks.
                case (0, "a"): for content in ["1", "2"] { try other.put("/taken", content) }
                // The lock file is another one.
                case (1, "a"):
                    fixture.removeBehindItsBack(".shareserve/commit")
                    try other.put("/taken", "3")
                // The state folder is another one.
                case (2, "a"):
                    let folder = fixture.directory.path(of: ".shareserve")
                    #expect(sys_renameat(AT_FDCWD, folder, AT_FDCWD, fixture.directory.path(of: "gone")) == 0)
                default:
                    let lock = try other.share.lock(target, request).lock
                    #expect(try fixture.putAtOnce("/folder/locked") == nil)
                    try other.share.unlock(target, token: lock.token)
                    fixture.removeBehindItsBack(".shareserve/locks")
                }
            }
        }
        #expect(try fixture.list("/folder") == Set(names))
    }

    @Test("A name that is taken makes it look first, and a free one ends that")
    func taking() throws {
        let fixture = try Fixture.memory()
        try fixture.put("/old", "old")
        for name in ["/a", "/b", "/c"] {
            #expect(try fixture.putAtOnce("/old") == nil)
            #expect(try fixture.putAtOnce("/old", replacing: .nothing) == nil)
            #expect(try fixture.putAtOnce(name)?.attributes.size == 3)
        }
        #expect(try fixture.get("/old") == "old" && fixture.list() == ["old", "a", "b", "c"])
        #expect(fixture.leftovers == [])
    }

    @Test("Two contents that are written one after the other have two entity tags")
    func tags() throws {
        let fixture = try Fixture.memory()
        var tags: Set<String> = []
        for _ in 0..<50 {
            let made = try #require(try fixture.putAtOnce("/file", "same"))
            tags.insert(made.attributes.entityTag.text)
            fixture.removeBehindItsBack("file")
        }
        #expect(tags.count == 50)
    }

    @Test("While another process changes names it does not wait")
    func busy() throws {
        let fixture = try Fixture.memory()
        let request = LockRequest(isExclusive: true, isRecursive: true, owner: [], timeout: nil)
        _ = try fixture.share.lock(SharePath(text: "/other"), request)
        #expect(try fixture.putAtOnce("/a") != nil)
        let file = fixture.directory.path(of: ".shareserve/commit")
        let other = sys_openat(AT_FDCWD, file, O_RDWR, 0)
        #expect(other >= 0)
        #expect(sys_lock(other, sys_lock_exclusive, 0) == 0)
        #expect(try fixture.putAtOnce("/b") == nil)
        // A child process of another test may hold the descriptor too for a moment.
        #expect(sys_lock(other, sys_lock_none, 0) == 0)
        _ = sys_close(other)
        #expect(try fixture.putAtOnce("/b") != nil)
    }

    @Test("A share on a disk, and a disk below a share in memory, are left to those who may wait")
    func disk() throws {
        let ordinary = try Fixture()
        if !ordinary.root.isInMemory { #expect(try ordinary.putAtOnce("/a") == nil) }
        let fixture = try Fixture.memory()
        try fixture.directory.makeDirectory("disk")
        guard let disk = SmallDisk(at: fixture.directory.path(of: "disk")) else {
            try Test.cancel("needs root: mounts a file system")
        }
        defer { disk.unmount() }
        #expect(try fixture.putAtOnce("/disk/a") == nil)
        #expect(fixture.directory.names(in: "disk") == [])
    }
}
