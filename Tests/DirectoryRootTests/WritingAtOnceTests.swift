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

/// Small uploads into a share in memory, which wait for nobody.
@Suite("Writing at once") struct WritingAtOnceTests {
    /// Nil where no file system is in memory.
    private func memory(_ policy: RootPolicy = RootPolicy(), clock: RootClock = .system) throws -> Fixture {
        guard let fixture = try? Fixture(policy: policy, in: "/dev/shm", clock: clock), fixture.root.isInMemory else {
            try Test.cancel("needs a file system in memory at /dev/shm")
        }
        return fixture
    }

    /// Removes a file behind the server's back.
    private func remove(_ file: String, in fixture: Fixture) {
        #expect(sys_unlinkat(AT_FDCWD, fixture.directory.path(of: file), 0) == 0)
    }

    /// For a clock so far ahead that whatever was changed counts as long ago, the kernel's own must still move on between
    /// two changes.
    private func passTick() throws {
        let probe = try TemporaryDirectory(in: "/dev/shm")
        func changed() throws -> [Int64] {
            try probe.write("x", to: "probe")
            var found = sys_attributes()
            #expect(sys_statat(AT_FDCWD, probe.path(of: "probe"), &found) == 0)
            return [found.changed, Int64(found.changed_ns)]
        }
        let before = try changed()
        while try changed() == before {}
    }

    /// Once a second the answer is nil whatever is asked; the next one is about the file again.
    private func create(
        _ path: String, _ content: String = "new", in share: Share, replacing: Replacement = .anything
    ) throws -> FileAttributes? {
        for _ in 0..<5 {
            // The usual way looks whether the root is still there.
            _ = try? share.attributes(of: .root)
            let made = share.createAtOnce(
                try SharePath(decoding: path), Array(content.utf8), replacing: replacing, modified: nil)
            if let made { return made }
        }
        return nil
    }

    @Test("A new file is there whole, with the attributes that were told")
    func new() throws {
        let fixture = try memory()
        try fixture.directory.makeDirectory("folder")
        let made = try create("/folder/a", "content", in: fixture.share)
        let found = try fixture.share.attributes(of: SharePath(decoding: "/folder/a"))
        #expect(made?.entityTag == found.entityTag && made?.modified == found.modified && found.size == 7)
        #expect(try fixture.get("/folder/a") == "content" && fixture.leftovers == [])
        #expect(try create("/folder/empty", "", in: fixture.share)?.size == 0)
        #expect(try fixture.list("/folder") == ["a", "empty"])
    }

    @Test("A name that the disk must be asked about is left to those who may wait")
    func otherSpellings() throws {
        var policy = RootPolicy()
        policy.hidden = ["secret*"]
        var fixture = try memory(policy)
        fixture.share.rights = RightsMap(rules: [(.root, .readWrite), (try SharePath(decoding: "/private"), .none)])
        for path in ["/Private", "/Secret", "/LONGNA~1.TXT"] {
            #expect(try create(path, in: fixture.share) == nil, "\(path)")
            #expect(try fixture.put(path, "content").created, "\(path)")
        }
        #expect(try create("/other", in: fixture.share) != nil)
    }

    @Test("What is there already is left to those who may wait")
    func taken() throws {
        let fixture = try memory()
        try fixture.put("/file", "old")
        try fixture.directory.makeDirectory("folder")
        try fixture.directory.link("link", to: "folder")
        for path in ["/file", "/folder", "/link", "/link/below", "/missing/below", "/file/below", "/"] {
            #expect(try create(path, in: fixture.share) == nil, "\(path)")
        }
        #expect(try fixture.get("/file") == "old" && fixture.leftovers == [])
        #expect(fixture.directory.names(in: "folder") == [])
    }

    @Test("Preconditions, rights, hidden names and limits hold")
    func refused() throws {
        var policy = RootPolicy()
        policy.hidden = ["*.secret"]
        policy.maxUploadSize = 4
        let fixture = try memory(policy)
        #expect(try create("/a.secret", in: fixture.share) == nil)
        #expect(try create("/.shareserve/a", in: fixture.share) == nil)
        #expect(try create("/large", "12345", in: fixture.share) == nil)
        #expect(try create("/a", in: fixture.share, replacing: .when { $0 != nil }) == nil)
        var share = fixture.share
        share.rights = RightsMap(rules: [(.root, .read)])
        #expect(try create("/a", in: share) == nil)
        share = fixture.share
        share.precondition = { false }
        #expect(try create("/a", in: share) == nil)
        #expect(try fixture.list() == [] && fixture.leftovers == [])
        // The same without what forbids it.
        #expect(try create("/a", in: fixture.share, replacing: .when { $0 == nil }) != nil)
    }

    @Test("A lock is in the way, and its token opens it")
    func locked() throws {
        let fixture = try memory()
        try fixture.directory.makeDirectory("folder")
        let request = LockRequest(isExclusive: true, isRecursive: true, owner: [], timeout: nil)
        let lock = try fixture.share.lock(SharePath(decoding: "/folder"), request).lock
        #expect(try create("/folder/a", in: fixture.share) == nil)
        #expect(fixture.directory.names(in: "folder") == [])
        var share = fixture.share
        share.tokens = [lock.token]
        #expect(try create("/folder/a", in: share) != nil)
    }

    @Test("What another process brings is seen by an upload that looks at little")
    func glance() throws {
        let clock = TestClock()
        clock.turn(by: 1_000_000_000)
        let fixture = try memory(clock: clock.clock)
        try fixture.directory.makeDirectory("folder")
        let other = try Fixture(over: fixture.directory, clock: clock.clock)
        let target = try SharePath(decoding: "/folder")
        let request = LockRequest(isExclusive: true, isRecursive: true, owner: [], timeout: nil)
        var names: [String] = []
        for round in 0..<3 {
            for step in ["a", "b"] {
                // The second one knows what the first one looked for.
                for look in ["1", "2"] {
                    names.append("\(round)\(step)\(look)")
                    #expect(try create("/folder/\(names.last ?? "")", in: fixture.share) != nil, "\(names)")
                }
                try passTick()
                switch (round, step) {
                // A state folder comes without locks.
                case (0, "a"): for content in ["1", "2"] { try other.put("/taken", content) }
                // The lock file is another one.
                case (1, "a"):
                    remove(".shareserve/commit", in: fixture)
                    try other.put("/taken", "3")
                // The state folder is another one.
                case (2, "a"):
                    let folder = fixture.directory.path(of: ".shareserve")
                    #expect(sys_renameat(AT_FDCWD, folder, AT_FDCWD, fixture.directory.path(of: "gone")) == 0)
                default:
                    let lock = try other.share.lock(target, request).lock
                    #expect(try create("/folder/locked", in: fixture.share) == nil)
                    try other.share.unlock(target, token: lock.token)
                    remove(".shareserve/locks", in: fixture)
                }
            }
        }
        #expect(try fixture.list("/folder") == Set(names))
    }

    @Test("A name that is taken makes it look first, and a free one ends that")
    func taking() throws {
        let fixture = try memory()
        try fixture.put("/old", "old")
        for name in ["/a", "/b", "/c"] {
            #expect(try create("/old", in: fixture.share) == nil)
            #expect(try create("/old", in: fixture.share, replacing: .nothing) == nil)
            #expect(try create(name, in: fixture.share)?.size == 3)
        }
        #expect(try fixture.get("/old") == "old" && fixture.list() == ["old", "a", "b", "c"])
        #expect(fixture.leftovers == [])
    }

    @Test("Two contents that are written one after the other have two entity tags")
    func tags() throws {
        let fixture = try memory()
        var tags: Set<String> = []
        for _ in 0..<50 {
            let made = try create("/file", "same", in: fixture.share)
            tags.insert(try #require(made).entityTag.text)
            remove("file", in: fixture)
        }
        #expect(tags.count == 50)
    }

    @Test("While another process changes names it does not wait")
    func busy() throws {
        let fixture = try memory()
        let request = LockRequest(isExclusive: true, isRecursive: true, owner: [], timeout: nil)
        _ = try fixture.share.lock(SharePath(decoding: "/other"), request)
        #expect(try create("/a", in: fixture.share) != nil)
        let file = fixture.directory.path(of: ".shareserve/commit")
        let other = sys_openat(AT_FDCWD, file, O_RDWR, 0)
        #expect(other >= 0)
        #expect(sys_lock(other, sys_lock_exclusive, 0) == 0)
        #expect(try create("/b", in: fixture.share) == nil)
        // A child that another test starts may have the descriptor too for a moment.
        #expect(sys_lock(other, sys_lock_none, 0) == 0)
        _ = sys_close(other)
        #expect(try create("/b", in: fixture.share) != nil)
    }

    @Test("A share on a disk, and a disk below a share in memory, are left to those who may wait")
    func disk() throws {
        let ordinary = try Fixture()
        if !ordinary.root.isInMemory { #expect(try create("/a", in: ordinary.share) == nil) }
        let fixture = try memory()
        try fixture.directory.makeDirectory("disk")
        guard let disk = SmallDisk(at: fixture.directory.path(of: "disk")) else {
            try Test.cancel("needs root: mounts a file system")
        }
        defer { disk.unmount() }
        #expect(try create("/disk/a", in: fixture.share) == nil)
        #expect(fixture.directory.names(in: "disk") == [])
    }
}
