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
