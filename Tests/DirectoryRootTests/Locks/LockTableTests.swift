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

@Suite("Lock table") struct LockTableTests {
    let directory: TemporaryDirectory
    let time = TestClock()
    let root: DirectoryRoot

    init() throws {
        directory = try TemporaryDirectory()
        root = try DirectoryRoot(path: directory.path, clock: time.clock)
    }

    private var table: LockTable { root.state.locks }

    private func request(
        _ scope: String = "x", depth: String = "0", timeout: Duration? = nil
    ) -> LockRequest {
        LockRequest(
            isExclusive: scope == "x", isRecursive: depth != "0", owner: Array("<owner>me</owner>".utf8),
            timeout: timeout)
    }

    /// Scope, depth and path of the held lock; the same of the requested one; whether both are possible.
    static let compatibility: [(String, String, String, String, String, String, Bool)] = [
        ("x", "0", "a", "x", "0", "a", false),
        ("x", "0", "a", "s", "0", "a", false),
        ("s", "0", "a", "x", "0", "a", false),
        ("s", "0", "a", "s", "0", "a", true),
        ("s", "i", "a", "s", "0", "a/b", true),
        ("s", "i", "a", "x", "0", "a/b", false),
        ("x", "i", "a", "s", "0", "a/b/c", false),
        ("x", "0", "a", "x", "0", "a/b", true),
        ("x", "0", "a/b", "x", "0", "a", true),
        ("x", "0", "a/b", "x", "i", "a", false),
        ("x", "0", "a/b/c", "s", "i", "", false),
        ("s", "0", "a/b/c", "s", "i", "a", true),
        ("x", "i", "", "x", "0", "z", false),
        ("x", "i", "a", "x", "i", "ab", true),
        ("x", "0", "ab", "x", "i", "a", true),
        ("x", "i", "a/b", "x", "i", "a/c", true),
    ]

    @Test("Exclusive and shared locks, depth 0 and infinity, meet as RFC 4918 §6.1 says", arguments: compatibility)
    func conflicts(row: (String, String, String, String, String, String, Bool)) throws {
        _ = try table.take(SharePath(row.2), request(row.0, depth: row.1), user: nil)
        if row.6 {
            _ = try table.take(SharePath(row.5), request(row.3, depth: row.4), user: nil)
        } else {
            #expect(throws: RootError.locked([SharePath(row.2)])) {
                try table.take(SharePath(row.5), request(row.3, depth: row.4), user: nil)
            }
        }
    }

    enum Kind: Sendable { case change, binding, tree }

    /// Depth and path of the lock; the operation and its path; whether the lock forbids it without its token.
    static let protection: [(String, String, Kind, String, Bool)] = [
        ("0", "a", .change, "a", true),
        ("0", "a", .change, "a/b", false),
        ("0", "a", .binding, "a/b", true),
        ("0", "a", .tree, "a/b", true),
        ("0", "a", .change, "a/b/c", false),
        ("0", "a", .binding, "a/b/c", false),
        ("i", "a", .change, "a/b", true),
        ("i", "a", .change, "a/b/c", true),
        ("i", "a", .binding, "a/b/c", true),
        ("i", "a", .binding, "ab", false),
        ("0", "a/b", .change, "a", false),
        ("0", "a/b", .binding, "a", false),
        ("0", "a/b", .tree, "a", true),
        ("0", "a/b/c", .tree, "a", true),
        ("0", "ab", .tree, "a", false),
        ("0", "", .binding, "a", true),
        ("0", "", .change, "a", false),
        ("0", "", .change, "", true),
        ("i", "", .change, "a/b", true),
    ]

    @Test("A lock protects content, membership and members as RFC 4918 §7 says", arguments: protection)
    func protects(row: (String, String, Kind, String, Bool)) throws {
        let lock = try table.take(SharePath(row.1), request(depth: row.0), user: nil)
        let path = SharePath(row.3)
        let use =
            switch row.2 {
            case .change: WriteUse(changes: [path])
            case .binding: WriteUse(bindings: [path])
            case .tree: WriteUse(trees: [path])
            }
        if row.4 {
            #expect(throws: RootError.locked([SharePath(row.1)])) { try table.check(use, tokens: [], user: nil) }
        } else {
            try table.check(use, tokens: [], user: nil)
        }
        try table.check(use, tokens: [lock.token], user: nil)
    }

    @Test("The locks on and below a path are found among others with similar names, also by another process")
    func around() throws {
        let names = ["", "a", "a/b", "a/b/c", "a-b", "a/b-c", "a0", "ab", "ab/c", "b", "a/\u{FF}"]
        let paths = names.map { SharePath($0) }
        var held: [(SharePath, LockToken)] = []
        func checkAll() throws {
            for root in [root, try DirectoryRoot(path: directory.path, clock: time.clock)] {
                for path in paths {
                    let found = try root.state.locks.around(path).map(\.root.bytes)
                    let expected = held.map(\.0).filter { path.contains($0) }.map(\.bytes)
                    #expect(Set(found) == Set(expected) && found.count == expected.count, "\(path)")
                }
            }
        }
        for path in paths.reversed() + paths {
            held.append((path, try table.take(path, request("s"), user: nil).token))
            try checkAll()
        }
        while !held.isEmpty {
            let (path, token) = held.remove(at: held.count / 3)
            try table.release(path, token: token, user: nil)
            try checkAll()
        }
    }

    @Test("One token of several shared locks is enough; each locked member needs one")
    func sharedTokens() throws {
        let first = try table.take(SharePath("a/x"), request("s"), user: nil)
        let second = try table.take(SharePath("a/x"), request("s"), user: nil)
        let third = try table.take(SharePath("a/y"), request(), user: nil)
        try table.check(WriteUse(changes: [SharePath("a/x")]), tokens: [second.token], user: nil)
        #expect(throws: RootError.locked([SharePath("a/y")])) {
            try table.check(WriteUse(trees: [SharePath("a")]), tokens: [first.token], user: nil)
        }
        try table.check(WriteUse(trees: [SharePath("a")]), tokens: [first.token, third.token], user: nil)
    }

    @Test("A lock taken by a user serves that user only")
    func users() throws {
        let path = SharePath("a")
        let lock = try table.take(path, request(), user: "anna")
        #expect(throws: RootError.locked([path])) {
            try table.check(WriteUse(changes: [path]), tokens: [lock.token], user: "bert")
        }
        #expect(throws: RootError.forbidden) { try table.release(path, token: lock.token, user: "bert") }
        #expect(throws: RootError.forbidden) {
            try table.refresh(path, tokens: [lock.token], timeout: nil, user: nil)
        }
        try table.release(path, token: lock.token, user: "anna")
        #expect(throws: RootError.unknownToken) { try table.release(path, token: lock.token, user: "anna") }
    }

    @Test("Time-outs are clipped, run out, and start again with a refresh")
    func timeouts() throws {
        let path = SharePath("a")
        let lock = try table.take(path, request(timeout: .seconds(1_000_000_000_000)), user: nil)
        #expect(lock.timeLeft == .seconds(86_400))
        time.pass(86_000)
        #expect(try table.covering(path).first?.timeLeft == .seconds(400))
        #expect(
            try table.refresh(path, tokens: [lock.token], timeout: .seconds(500), user: nil)[0].timeLeft
                == .seconds(500))
        time.pass(499)
        #expect(try table.covering(path).count == 1)
        time.pass(1)
        #expect(try table.covering(path).isEmpty)
        try table.check(WriteUse(changes: [path]), tokens: [], user: nil)
        #expect(throws: RootError.preconditionFailed) {
            try table.refresh(path, tokens: [lock.token], timeout: nil, user: nil)
        }
        #expect(throws: RootError.unknownToken) { try table.release(path, token: lock.token, user: nil) }
    }

    @Test("Another instance on the same root sees a lock at once, and a restart keeps its time-out")
    func persistence() throws {
        let path = SharePath(unchecked: Array("a/b\n\t\\=".utf8) + [0xFF, 0xFE, 1])
        let owner = Array("<D:owner>\n\u{1F600}</D:owner>".utf8) + [0]
        let wanted = LockRequest(isExclusive: true, isRecursive: true, owner: owner, timeout: .seconds(100))
        let other = try DirectoryRoot(path: directory.path, clock: time.clock)
        #expect(try other.state.locks.isEmpty())
        let lock = try table.take(path, wanted, user: "ünï=code\t")
        #expect(throws: RootError.locked([path])) {
            try other.state.locks.check(WriteUse(changes: [path]), tokens: [], user: nil)
        }
        time.pass(40)
        let restarted = try DirectoryRoot(path: directory.path, clock: time.clock)
        var expected = lock
        expected.timeLeft = .seconds(60)
        #expect(try restarted.state.locks.covering(path) == [expected])
        try restarted.state.locks.release(path, token: lock.token, user: "ünï=code\t")
        #expect(try table.covering(path).isEmpty)
    }

    @Test("No setting of the clock makes a lock last longer than granted")
    func clockSetBack() throws {
        let path = SharePath("a")
        _ = try table.take(path, request(timeout: .seconds(100)), user: nil)
        time.turn(by: -1_000_000)
        let restarted = try DirectoryRoot(path: directory.path, clock: time.clock)
        #expect(try restarted.state.locks.covering(path).first?.timeLeft == .seconds(100))
        // Reading the table again, because something else changed, does not restart the time-out.
        time.pass(60)
        _ = try restarted.state.locks.take(SharePath("b"), request(), user: nil)
        #expect(try table.covering(path).first?.timeLeft == .seconds(40))
        time.pass(40)
        #expect(try table.covering(path).isEmpty)
        #expect(try restarted.state.locks.covering(path).isEmpty)
        time.turn(by: 10_000_000)
        #expect(try table.covering(SharePath("b")).count == 1, "a clock set forward ends no lock while we run")
    }

    @Test("Locks with large owners are fewer, so that the table stays small")
    func bytes() throws {
        var policy = RootPolicy()
        policy.maxLocks = 60
        let share = Share(root: try DirectoryRoot(path: directory.path, policy: policy))
        var wish = request("s")
        wish.owner = Array(repeating: UInt8(ascii: "o"), count: 8_000)
        try directory.write("", to: "a")
        var held: [ActiveLock] = []
        while held.count < 20 {
            do throws(RootError) {
                held.append(try share.lock(SharePath("a"), wish).lock)
            } catch {
                #expect(error == .tooMany)
                break
            }
        }
        #expect(held.count == 8)
        try share.unlock(SharePath("a"), token: held[0].token)
        _ = try share.lock(SharePath("a"), wish)
    }

    @Test("One user's large locks leave others their part of the table", arguments: [(200, 12), (60, 4)])
    func bytesPerUser(inAll most: Int, largeOnes: Int) throws {
        var policy = RootPolicy()
        policy.maxLocks = most
        policy.maxLocksPerUser = most / 2
        let root = try DirectoryRoot(path: directory.path, policy: policy)
        let table = root.state.locks
        var wish = request()
        wish.owner = Array(repeating: UInt8(ascii: "o"), count: 8_000)
        var held: [ActiveLock] = []
        #expect(throws: RootError.tooManyLocks) {
            while held.count < most { held.append(try table.take(SharePath("a\(held.count)"), wish, user: "a")) }
        }
        #expect(held.count == largeOnes)
        for number in 0..<(largeOnes - 1) { _ = try table.take(SharePath("b\(number)"), wish, user: "b") }
        try table.release(SharePath("a0"), token: held[0].token, user: "a")
        _ = try table.take(SharePath("c"), wish, user: "a")
    }

    @Test("Limits per user and in all; an owner of more than 8 KiB is refused")
    func limits() throws {
        var policy = RootPolicy()
        policy.maxLocks = 5
        policy.maxLocksPerUser = 3
        let root = try DirectoryRoot(path: directory.path, policy: policy, clock: time.clock)
        let table = root.state.locks
        var last: ActiveLock?
        for name in ["1", "2", "3"] {
            last = try table.take(SharePath(name), request(timeout: .seconds(10)), user: "a")
        }
        #expect(throws: RootError.tooManyLocks) { try table.take(SharePath("4"), request(), user: "a") }
        for name in ["4", "5"] { _ = try table.take(SharePath(name), request(), user: nil) }
        #expect(throws: RootError.tooMany) { try table.take(SharePath("6"), request(), user: nil) }
        #expect(throws: RootError.tooMany) { try table.take(SharePath("6"), request(), user: "b") }
        try table.release(SharePath("3"), token: try #require(last).token, user: "a")
        _ = try table.take(SharePath("6"), request(), user: nil)
        #expect(throws: RootError.tooMany) { try table.take(SharePath("7"), request(), user: "a") }
        time.pass(10)
        _ = try table.take(SharePath("7"), request(), user: "a")
        let huge = LockRequest(
            isExclusive: true, isRecursive: false, owner: .init(repeating: 1, count: 9_000), timeout: nil)
        #expect(throws: RootError.tooLarge) { try table.take(SharePath("8"), huge, user: nil) }
    }

    @Test("Dropping ends the locks at and below a path, and no other")
    func drop() throws {
        for name in ["a", "a/b", "a/b/c", "ab", "c"] { _ = try table.take(SharePath(name), request(), user: nil) }
        try table.drop(below: SharePath("a"))
        for (name, count) in [("a", 0), ("a/b", 0), ("a/b/c", 0), ("ab", 1), ("c", 1)] {
            #expect(try table.covering(SharePath(name)).count == count)
        }
        try table.drop(below: .root)
        #expect(try table.isEmpty())
    }

    @Test("Tokens are version 4 UUIDs, each another")
    func tokens() throws {
        let tokens = try (0..<50).map { try table.take(SharePath("f\($0)"), request(), user: nil).token.uri }
        #expect(Set(tokens).count == 50)
        for token in tokens {
            #expect(
                token.wholeMatch(of: /urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/)
                    != nil)
        }
    }

    @Test("A damaged table is kept aside and the share goes on")
    func damaged() throws {
        _ = try table.take(SharePath("a"), request(), user: nil)
        try directory.write("torn", to: ".shareserve/locks")
        try table.check(WriteUse(changes: [SharePath("a")]), tokens: [], user: nil)
        _ = try table.take(SharePath("b"), request(), user: nil)
        #expect(try table.covering(SharePath("b")).count == 1)
        #expect(directory.names(in: ".shareserve").contains { $0.hasPrefix("locks.damaged-") })
        #expect(root.takeIncidents().count == 2)
    }

    @Test("Ten thousand locks are looked up by path, not one by one")
    func manyLocks() throws {
        var policy = RootPolicy()
        policy.maxLocksPerUser = 10_000
        var snapshot = LockSnapshot()
        for index in 0..<10_000 {
            snapshot.insert(
                StoredLock(
                    token: "t\(index)", root: SharePath("d\(index % 100)/f\(index)"), isExclusive: true,
                    isRecursive: false, owner: [], user: nil, duration: .seconds(100),
                    expires: Timestamp(seconds: 0), deadline: .seconds(100)))
        }
        let use = WriteUse(changes: [SharePath("d5/f105")], bindings: [SharePath("e/x")], trees: [SharePath("other")])
        let start = ContinuousClock.now
        for _ in 0..<1_000 {
            #expect(snapshot.obstacles(use, tokens: [], user: nil, at: .zero) == [SharePath("d5/f105")])
        }
        #expect(ContinuousClock.now - start < .seconds(5))
        #expect(snapshot.obstacles(WriteUse(trees: [SharePath("d5")]), tokens: [], user: nil, at: .zero).count == 100)
        let again = try LockSnapshot(
            payload: snapshot.payload, knownBefore: LockSnapshot(), wall: Timestamp(seconds: -100), uptime: .zero)
        #expect(again.locks.count == 10_000)
    }

    @Test("Two processes that take and end one lock 500 times each never hold it both")
    func races() throws {
        try directory.write("x", to: "file0")
        let children = try (0..<2).map { _ in try Child.drill(directory.path, "race", "500") }
        for child in children { #expect(child.wait() == 0) }
        #expect(try table.isEmpty())
        #expect(directory.names(in: ".shareserve") == ["commit", "lock", "locks"])
    }

    @Test("A process killed while it changes locks leaves a table that reads well")
    func kills() throws {
        for name in 0..<7 { try directory.write("x", to: "file\(name)") }
        for round in 0..<15 {
            let child = try Child.drill(directory.path, "locks")
            usleep(UInt32(20_000 + round * 3_000))
            child.kill()
            #expect(child.wait() == -SIGKILL)
            _ = try table.take(SharePath("mine"), request(), user: nil)
            try table.drop(below: SharePath("mine"))
        }
        #expect(root.takeIncidents().isEmpty)
        #expect(!directory.names(in: ".shareserve").contains { $0.contains("damaged") })
    }
}
