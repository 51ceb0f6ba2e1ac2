import Dispatch
import Synchronization
import TestSupport
import Testing

@testable import DirectoryRoot

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

@Suite("Change feed", .timeLimit(.minutes(1))) struct ChangeFeedTests {
    let directory: TemporaryDirectory
    let share: Share

    init() throws {
        directory = try TemporaryDirectory()
        try directory.makeDirectory("a/b")
        share = Share(root: try DirectoryRoot(path: directory.path))
    }

    private func names(_ texts: String...) -> FolderChange { .names(Set(texts.map { Array($0.utf8) })) }

    /// Waits until all these names have been reported, or everything.
    private func wait(for texts: Set<String>, from stream: AsyncStream<FolderChange>) async -> Set<String> {
        var seen: Set<String> = []
        for await change in stream {
            guard case .names(let names) = change else { return ["all"] }
            seen.formUnion(names.map { String(decoding: $0, as: UTF8.self) })
            if seen.isSuperset(of: texts) { break }
        }
        return seen
    }

    @Test("What comes, goes, changes and is renamed in the folder is told, and nothing else")
    func names() async throws {
        let stream = try share.changes(in: SharePath("a"))
        try directory.write("x", to: "a/new")
        try directory.write("x", to: "a/.shareserve-x1")
        try directory.write("x", to: "a/b/below")
        try directory.write("x", to: "beside")
        directory.removeAll("a/new")
        try directory.write("y", to: "a/last")
        #expect(await wait(for: ["new", "last"], from: stream) == ["new", "last"])
    }

    @Test("Files on their way to a name are not told of by the number that the kernel gives them")
    func unnamed() async throws {
        let stream = try share.changes(in: SharePath("a"))
        let upload = try share.beginUpload(to: SharePath("a/whole"), replacing: .nothing)
        try upload.write([UInt8](repeating: 1, count: 400_000))
        _ = try upload.commit()
        try directory.write("x", to: "a/#12")
        #expect(await wait(for: ["whole", "#12"], from: stream) == ["whole", "#12"])
    }

    @Test("Hidden names and those without the right to read never leak")
    func hidden() async throws {
        var policy = RootPolicy()
        policy.hidden = ["*.key"]
        var share = Share(root: try DirectoryRoot(path: directory.path, policy: policy))
        share.rights = RightsMap(rules: [(.root, .readOnly), (SharePath("a/secret"), .none)])
        let stream = try share.changes(in: SharePath("a"))
        for name in ["a/my.key", "a/secret", "a/open"] { try directory.write("x", to: name) }
        #expect(await wait(for: ["open"], from: stream) == ["open"])
        #expect(throws: RootError.notDirectory) { try share.changes(in: SharePath("a/open")) }
        #expect(throws: RootError.notFound) { try share.changes(in: SharePath("nothing")) }
        #expect(throws: RootError.notFound) { try share.changes(in: SharePath(".shareserve")) }
    }

    @Test("Many changes become one word, and a folder that goes is told")
    func gathered() async throws {
        let stream = try share.changes(in: SharePath("a"))
        for index in 0..<300 { try directory.write("x", to: "a/f\(index)") }
        var said = 0
        var seen: Set<[UInt8]> = []
        for await change in stream {
            said += 1
            guard case .names(let names) = change else { break }
            seen.formUnion(names)
            if seen.count == 300 { break }
        }
        #expect(said < 150)
        let below = try share.changes(in: SharePath("a/b"))
        directory.removeAll("a")
        for await change in below where change == .all { break }
    }

    @Test("Nothing is told of a folder that was moved away, and its stream ends")
    func moved() async throws {
        let streams = try (0..<2).map { _ in try share.changes(in: SharePath("a")) }
        try directory.rename("a", to: "elsewhere")
        while share.root.state.feed.watchCount > 0 { try await Task.sleep(for: .milliseconds(20)) }
        try directory.write("x", to: "elsewhere/new")
        for stream in streams {
            var said: [FolderChange] = []
            for await change in stream { said.append(change) }
            #expect(said == [.all])
        }
        let again = try share.changes(in: SharePath("elsewhere"))
        try directory.write("x", to: "elsewhere/newer")
        #expect(await wait(for: ["newer"], from: again) == ["newer"])
    }

    @Test("One watch serves all who look at a folder, and the thread ends with the last of them")
    func watches() async throws {
        let feed = share.root.state.feed
        do {
            let streams = try (0..<5).map { _ in try share.changes(in: SharePath("a")) }
            #expect(feed.watchCount == 1 && feed.isRunning)
            try directory.write("x", to: "a/new")
            for stream in streams { #expect(await wait(for: ["new"], from: stream) == ["new"]) }
        }
        while feed.isRunning { try await Task.sleep(for: .milliseconds(20)) }
        #expect(feed.watchCount == 0)
        let again = try share.changes(in: SharePath("a"))
        try directory.write("x", to: "a/again")
        #expect(await wait(for: ["again"], from: again) == ["again"])
    }

    /// Makes the feed's thread wait where it checks whether a member exists.
    private final class Looks: Sendable {
        private let (beginnings, beginning) = AsyncStream.makeStream(of: Void.self)
        private let hasGivenUp = Mutex(false)
        private let answer = DispatchSemaphore(value: 0)

        private let finds: Bool

        init(finds: Bool) { self.finds = finds }

        /// Continues once it may, or after a minute: many tests run at the same time.
        func look() -> Bool {
            beginning.yield()
            if answer.wait(timeout: .now() + 60) == .timedOut { hasGivenUp.withLock { $0 = true } }
            return finds
        }

        var isInTime: Bool { !hasGivenUp.withLock { $0 } }

        func begin() async { for await _ in beginnings { return } }

        func allow() { answer.signal() }
    }

    private func subscribe(to feed: ChangeFeed, _ looks: Looks) throws -> AsyncStream<FolderChange> {
        let folder = try Descriptor(open(directory.path(of: "a"), O_RDONLY | O_DIRECTORY | O_CLOEXEC), "open")
        return feed.subscribe(to: SharedDescriptor(folder), isShown: { _ in true }, isThere: { _ in looks.look() })
    }

    @Test("Who comes or goes does not wait while members are looked at")
    func unlocked() async throws {
        let (feed, looks) = (ChangeFeed(mostWatches: 1), Looks(finds: true))
        try directory.write("x", to: "a/#12")
        let stream = try subscribe(to: feed, looks)
        try directory.write("y", to: "a/#12")
        await looks.begin()
        #expect(feed.watchCount == 1 && looks.isInTime)
        for _ in 0..<9 { looks.allow() }
        #expect(await wait(for: ["#12"], from: stream) == ["#12"])
    }

    @Test("More names than can be looked at within reason are told of as everything")
    func doubtful() async throws {
        let (feed, looks) = (ChangeFeed(mostWatches: 1), Looks(finds: false))
        let doubtful = (0..<500).map { "a/#\($0)" }
        for name in doubtful { try directory.write("x", to: name) }
        let stream = try subscribe(to: feed, looks)
        for name in doubtful { try directory.write("y", to: name) }
        await looks.begin()
        for _ in 0..<5_000 { looks.allow() }
        #expect(await wait(for: ["#499"], from: stream) == ["all"])
    }

    @Test("Folders beyond the limit of watches are looked at instead")
    func polling() async throws {
        var policy = RootPolicy()
        policy.maxWatches = 1
        let share = Share(root: try DirectoryRoot(path: directory.path, policy: policy))
        try directory.write("x", to: "a/b/gone")
        try directory.write("x", to: "a/b/changed")
        let watched = try share.changes(in: SharePath("a"))
        let looked = try share.changes(in: SharePath("a/b"))
        #expect(share.root.state.feed.watchCount == 1)
        try directory.write("x", to: "a/b/.shareserve-y")
        try directory.write("x", to: "a/b/new")
        try directory.write("longer", to: "a/b/changed")
        directory.removeAll("a/b/gone")
        #expect(await wait(for: ["new", "changed", "gone"], from: looked) == ["new", "changed", "gone"])
        withExtendedLifetime(watched) {}
    }
}
