import TestSupport
import Testing

@testable import DirectoryRoot

@Suite("Share links") struct LinkStoreTests {
    let directory: TemporaryDirectory
    let time = TestClock()
    let root: DirectoryRoot

    init() throws {
        directory = try TemporaryDirectory()
        root = try DirectoryRoot(path: directory.path, clock: time.clock)
    }

    @Test("A link is kept whole, seen by another instance, listed newest first, and revoked")
    func keeps() throws {
        let wanted = ShareLink(
            secretHash: (0...255).map(UInt8.init), path: SharePath(unchecked: [0xFF, 0x0A, 0x2F, 0x09]),
            rights: [.read, .create], expires: time.clock.wall().advanced(by: .seconds(100)), passwordHash: "$6$x\t$y",
            downloadsLeft: 3, creator: "anna")
        let link = try root.links.create(wanted)
        time.pass(1)
        let second = try root.links.create(ShareLink(secretHash: [1], path: .root))
        var expected = wanted
        expected.id = link.id
        expected.created = link.created
        #expect(link == expected)
        let other = try DirectoryRoot(path: directory.path, clock: time.clock)
        #expect(try other.links.link(id: link.id) == link)
        #expect(try other.links.all().map(\.id) == [second.id, link.id])
        time.pass(99)
        #expect(try other.links.link(id: link.id) == nil)
        try other.links.revoke(id: second.id)
        #expect(try root.links.link(id: second.id) == nil)
        #expect(throws: RootError.unknownToken) { try root.links.revoke(id: second.id) }
        #expect(throws: RootError.unknownToken) { try root.links.countDownload(id: second.id) }
    }

    @Test("A link that a wrong clock makes expire is there again when the clock is right, but not for ever")
    func wrongClock() throws {
        // A hundred changes take long on a disk that other tests keep busy.
        let directory = (try? TemporaryDirectory(in: "/dev/shm")) ?? self.directory
        let root = try DirectoryRoot(path: directory.path, clock: time.clock)
        let expires = time.clock.wall().advanced(by: .seconds(100))
        let link = try root.links.create(ShareLink(secretHash: [1], path: .root, expires: expires))
        time.turn(by: 1_000_000)
        let lasting = try root.links.create(ShareLink(secretHash: [2], path: .root))
        #expect(try root.links.all().map(\.id) == [lasting.id])
        #expect(throws: RootError.unknownToken) { try root.links.countDownload(id: link.id) }
        time.turn(by: -1_000_000)
        #expect(try root.links.link(id: link.id) == link)
        time.pass(200)
        for _ in 0..<LinkStore.mostExpired {
            let expires = time.clock.wall().advanced(by: .seconds(1))
            _ = try root.links.create(ShareLink(secretHash: [3], path: .root, expires: expires))
            time.pass(2)
        }
        _ = try root.links.create(ShareLink(secretHash: [4], path: .root))
        let kept = try StateFile(state: root.state.folder, name: "links").read()
        #expect(try StateRecord.all(in: #require(kept).envelope.payload).count == LinkStore.mostExpired + 2)
        time.turn(by: -1_000)
        #expect(try root.links.link(id: link.id) == nil)
    }

    @Test("An expired link goes for good once a server has seen it so for an hour")
    func sweeping() throws {
        let expires = time.clock.wall().advanced(by: .seconds(100))
        let link = try root.links.create(ShareLink(secretHash: [1], path: .root, expires: expires))
        let lasting = try root.links.create(ShareLink(secretHash: [2], path: .root))
        // A clock that is wrong for a while takes nothing away, however often it is.
        for _ in 0..<3 {
            time.turn(by: 1_000_000)
            for _ in 0..<59 {
                try root.sweep()
                time.pass(60)
            }
            time.turn(by: -1_000_000 - 59 * 60)
            try root.sweep()
            #expect(try root.links.link(id: link.id) == link)
        }
        time.pass(200)
        for _ in 0...60 {
            try root.sweep()
            time.pass(60)
        }
        time.turn(by: -1_000_000)
        #expect(try root.links.all().map(\.id) == [lasting.id])
        #expect(try root.links.link(id: link.id) == nil)
        #expect(throws: RootError.unknownToken) { try root.links.revoke(id: link.id) }
    }

    @Test("Nobody has more links than are left for others, nor longer paths")
    func shares() throws {
        let directory = (try? TemporaryDirectory(in: "/dev/shm")) ?? self.directory
        let root = try DirectoryRoot(path: directory.path, clock: time.clock)
        func make(_ creator: String?, _ path: SharePath) throws -> ShareLink {
            try root.links.create(ShareLink(secretHash: [1], path: path, creator: creator))
        }
        let long = SharePath(unchecked: Array(repeating: UInt8(ascii: "x"), count: 32 << 10))
        var count = 0
        while count < 100, (try? make("", long)) != nil { count += 1 }
        // Half of 4 MiB.
        #expect(count == 64)
        #expect(throws: RootError.tooManyLinks) { try make("", long) }
        #expect(try make("anna", long).creator == "anna")
        #expect(try make(nil, long).creator == nil)
    }

    @Test("Of many who ask for the last downloads at a time, as many get one as are left")
    func downloads() async throws {
        let link = try root.links.create(ShareLink(secretHash: [1], path: .root, downloadsLeft: 10))
        let roots = try (0..<3).map { _ in try DirectoryRoot(path: directory.path, clock: time.clock) }
        let got = await withTaskGroup(of: Bool.self) { group in
            for index in 0..<40 {
                group.addTask {
                    do {
                        try roots[index % 3].links.countDownload(id: link.id)
                        return true
                    } catch {
                        return false
                    }
                }
            }
            return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(got == 10)
        #expect(try root.links.link(id: link.id)?.downloadsLeft == 0)
        let free = try root.links.create(ShareLink(secretHash: [1], path: .root))
        for _ in 0..<3 { try root.links.countDownload(id: free.id) }
    }

    @Test("A damaged file of links opens nothing, and is kept aside by the next change")
    func damaged() throws {
        let link = try root.links.create(ShareLink(secretHash: [1], path: .root))
        try directory.write("garbage", to: ".shareserve/links")
        #expect(try root.links.link(id: link.id) == nil)
        _ = try root.links.create(ShareLink(secretHash: [1], path: .root))
        #expect(directory.names(in: ".shareserve").contains { $0.hasPrefix("links.damaged-") })
        #expect(try root.links.all().count == 1)
    }
}
