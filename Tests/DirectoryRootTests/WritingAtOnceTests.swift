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
    private func memory(_ policy: RootPolicy = RootPolicy()) throws -> Fixture {
        guard let fixture = try? Fixture(policy: policy, in: "/dev/shm"), fixture.root.isInMemory else {
            try Test.cancel("needs a file system in memory at /dev/shm")
        }
        return fixture
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
