import CSyscalls
import DirectoryRoot
import Synchronization
import TestSupport
import Testing

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// Full disks, files that may not be touched, file systems below the root.
@Suite("Faults", .serialized) struct FaultTests {
    @Test("A file system without room, and one of another kind, below the root")
    func smallDisk() throws {
        guard let disk = SmallDisk() else { try Test.cancel("needs root: mounts a file system") }
        defer { disk.unmount() }
        let fixture = try Fixture(in: disk.path)
        try fixture.put("/old", "old")
        let big = [UInt8](repeating: 1, count: 1 << 20)
        #expect(throws: RootError.noSpace) {
            let upload = try fixture.share.beginUpload(to: SharePath(text: "/old"), replacing: .anything)
            for _ in 0..<8 { try upload.write(big) }
            _ = try upload.commit()
        }
        #expect(throws: RootError.noSpace) {
            try fixture.share.beginUpload(to: SharePath(text: "/new"), replacing: .anything, size: 1 << 30)
        }
        #expect(try fixture.get("/old") == "old" && fixture.leftovers == [])
        // There is space again at once, unless another test is starting a process: until that executes its own program,
        // it holds our open files too.
        for tries in 0... {
            do {
                try fixture.put("/next", "next")
                break
            } catch RootError.noSpace where tries < 1_000 {
                usleep(10_000)
            }
        }
        try fixture.directory.write([UInt8](repeating: 2, count: 1 << 20), to: "tree/big")
        try fixture.directory.write([UInt8](repeating: 2, count: 1 << 20), to: "tree/big2")
        try fixture.directory.write("kept", to: "target/file")
        #expect(throws: RootError.noSpace) { try fixture.copy("/tree", to: "/target") }
        #expect(fixture.directory.text("target/file") == "kept" && fixture.leftovers == [])
    }

    @Test("Moves and copies cross file systems", arguments: [SystemUnderTest.whole, .withNothing])
    func otherFileSystem(_ system: SystemUnderTest) throws {
        let fixture = try Fixture(system)
        let disk = try SmallDisk.below(fixture)
        defer { disk.unmount() }
        try fixture.directory.write("1", to: "t/a/one")
        try fixture.directory.write("2", to: "t/two")
        try fixture.put("/disk/file", "first")
        try fixture.put("/disk/file", "second")
        #expect(try fixture.copy("/t", to: "/disk/t").created)
        #expect(try fixture.move("/disk/file", to: "/file").created && fixture.get("/file") == "second")
        #expect(try fixture.move("/t", to: "/disk/u").created && fixture.get("/disk/u/a/one") == "1")
        #expect(!fixture.directory.exists("t"))
        #expect(try !fixture.move("/file", to: "/disk/u").created && fixture.get("/disk/u") == "second")
        #expect(try fixture.move("/disk/t", to: "/t").created && fixture.get("/t/two") == "2")
        #expect(fixture.directory.names(in: "disk") == ["u"] && fixture.leftovers == [])
        #expect(throws: (any Error).self) { try fixture.remove("/disk") }
    }

    @Test("A move to another file system carries what nobody sees, and stays where something can't be carried")
    func everythingMoves() throws {
        var policy = RootPolicy()
        policy.hidden = ["*.secret"]
        let fixture = try Fixture(policy: policy)
        let disk = try SmallDisk.below(fixture)
        defer { disk.unmount() }
        try fixture.directory.write("hidden", to: "t/a/b.secret")
        try fixture.directory.link("t/nowhere", to: "missing/place")
        #expect(try fixture.move("/t", to: "/disk/t").failures == [])
        #expect(fixture.directory.text("disk/t/a/b.secret") == "hidden" && !fixture.directory.exists("t"))
        #expect(fixture.directory.isLink("disk/t/nowhere"))
        try fixture.directory.makeFIFO("disk/t/fifo")
        let failures = try fixture.move("/disk/t", to: "/u").failures
        #expect(failures.map(\.path) == [try SharePath(text: "/disk/t/fifo")])
        #expect(!fixture.directory.exists("u") && fixture.directory.text("disk/t/a/b.secret") == "hidden")
        #expect(fixture.leftovers == [])
    }

    @Test("What is written while it moves to another file system is not lost", arguments: [0, 1, 220])
    func writtenMeanwhile(_ depth: Int) throws {
        let fixture = try Fixture(.withNothing)
        let disk = try SmallDisk.below(fixture, megabytes: 64)
        defer { disk.unmount() }
        let old = [UInt8](repeating: 1, count: 1 << 19)
        let folder = "s" + String(repeating: "/d", count: max(0, depth - 1))
        let name = depth == 0 ? "s" : "\(folder)/0"
        // Creating many folders takes longer as well.
        let pause = depth > 1 ? 1_500 : 150
        for round in 0..<15 {
            if depth == 0 {
                try fixture.directory.write(old + old + old + old, to: "s")
            } else {
                for number in 0..<8 { try fixture.directory.write(old, to: "\(folder)/\(number)") }
            }
            let isOver = Atomic(false)
            let isWritten = Atomic(false)
            let writer = Thread()
            writer.start {
                // The copy grows under a temporary name beside the target.
                while !isOver.load(ordering: .acquiring) {
                    guard fixture.directory.names(in: "disk").contains(where: { $0.hasPrefix(".shareserve-") }) else {
                        continue
                    }
                    usleep(UInt32(round * pause))
                    if (try? fixture.put("/\(name)", "new")) != nil { isWritten.store(true, ordering: .releasing) }
                    return
                }
            }
            let result = try fixture.move("/s", to: "/disk/s")
            isOver.store(true, ordering: .releasing)
            writer.join()
            #expect(result.failures == [])
            if isWritten.load(ordering: .acquiring) {
                #expect(fixture.directory.text(name) == "new" || fixture.directory.text("disk/\(name)") == "new")
            }
            if fixture.directory.exists("s") { _ = try fixture.remove("/s") }
            _ = try fixture.remove("/disk/s")
        }
        #expect(fixture.leftovers == [])
    }

    @Test("Past the process's file-size limit an upload fails, and the process lives")
    func fileSizeLimit() throws {
        let fixture = try Fixture()
        try fixture.put("/big", "old")
        #expect(try Child.drill(fixture.directory.path, "limit").wait() == 0)
        #expect(try fixture.get("/big") == "old" && fixture.leftovers == [])
        #expect(try fixture.list() == ["big", "small"])
    }

    @Test("A process killed while it writes, copies and moves leaves everything wholly old or wholly new")
    func killed() throws {
        let fixture = try Fixture()
        for round in 0..<30 {
            let child = try Child.drill(fixture.directory.path, "writes")
            usleep(UInt32(2_000 + round * 977 % 40_000))
            child.kill()
            child.wait()
            // After a restart there are only complete files under the names.
            let after = try Fixture(over: fixture.directory)
            let names = try after.list()
            #expect(names.isSubset(of: ["file0", "file1", "file2", "file3", "file4", "moved", "w", "t", "u"]))
            for name in names.filter({ $0.hasPrefix("file") || $0 == "moved" }) {
                let content = fixture.directory.read(name) ?? []
                #expect(content.count == 50_000 && Set(content).count == 1, "\(name)")
            }
            for tree in names.intersection(["t", "u"]) {
                let contents = fixture.directory.contents(below: tree)
                #expect(contents.count == 3 && Set(contents.values.joined()).count == 1, "\(tree)")
            }
            if names.contains("w") { #expect(try after.remove("/w") == []) }
        }
    }

    @Test("A move over a folder that was killed between its two steps is finished by the next start")
    func interruptedMove() throws {
        let fixture = try Fixture()
        try fixture.directory.write("old target", to: "source/file")
        try fixture.directory.write("another", to: "other/file")
        try fixture.directory.write("new target", to: "target/file")
        let note = try swapped(fixture, "source", "target")
        // The process that continued after the kill gave the names to others.
        try fixture.directory.write(note + "source\0other", to: ".shareserve/tmp/.shareserve-0.move")
        try fixture.directory.write(note + "other\0target", to: ".shareserve/tmp/.shareserve-1.move")
        try fixture.directory.write(note + "source\0gone", to: ".shareserve/tmp/.shareserve-2.move")
        try fixture.directory.write("torn", to: ".shareserve/tmp/.shareserve-3.move")
        try fixture.directory.write(note + "../../etc\0target", to: ".shareserve/tmp/.shareserve-4.move")
        try fixture.directory.write(note + "source", to: ".shareserve/tmp/.shareserve-5.move")
        #expect(try Fixture(over: fixture.directory).list() == ["other", "source", "target"])
        #expect(fixture.leftovers == [])
        try fixture.directory.write(note + "source\0target", to: ".shareserve/tmp/.shareserve-1.move")
        let next = try Fixture(over: fixture.directory)
        #expect(try next.list() == ["other", "target"] && next.leftovers == [])
    }

    /// The beginning of a note about two folders that have been exchanged.
    private func swapped(_ fixture: Fixture, _ source: String, _ target: String) throws -> String {
        let replaced = try fixture.share.attributes(of: SharePath(source))
        let moved = try fixture.share.attributes(of: SharePath(target))
        return "\(replaced.device) \(replaced.inode) \(moved.device) \(moved.inode) "
    }

    @Test("A move over a folder that the trash shall have is finished in the same way")
    func interruptedMoveToTrash() throws {
        let fixture = try Fixture()
        try fixture.directory.write("old target", to: "source/file")
        try fixture.directory.write("another", to: "other/file")
        try fixture.directory.makeDirectory(".shareserve/trash")
        let note = try swapped(fixture, "source", "other")
        try fixture.directory.write("trash 12ab \(note)other\0source", to: ".shareserve/tmp/.shareserve-1.move")
        try fixture.directory.write("trash 34cd \(note)source\0other", to: ".shareserve/tmp/.shareserve-2.move")
        try fixture.directory.write("trash ", to: ".shareserve/tmp/.shareserve-3.move")
        let next = try Fixture(over: fixture.directory)
        #expect(try next.list() == ["other"] && next.leftovers == [])
        #expect(fixture.directory.names(in: ".shareserve/trash") == ["34cd.item"])
        #expect(fixture.directory.text(".shareserve/trash/34cd.item/file") == "old target")
    }

    @Test("What can't be removed is reported, and stands under its name again")
    func undeletable() throws {
        let fixture = try Fixture()
        try fixture.directory.write("1", to: "t/a/one")
        try fixture.directory.write("2", to: "t/b/two")
        guard fixture.directory.setImmutable(true, "t/a/one") else {
            try Test.cancel("needs root and a file system with immutable files")
        }
        defer { _ = fixture.directory.setImmutable(false, "t/a/one") }
        let path = try SharePath(text: "/t/a/one")
        #expect(try fixture.remove("/t") == [MemberFailure(path: path, error: .forbidden)])
        #expect(fixture.directory.text("t/a/one") == "1" && !fixture.directory.exists("t/b"))
        #expect(throws: RootError.forbidden) { try fixture.remove("/t/a/one") }
        #expect(throws: RootError.forbidden) { try fixture.put("/t/a/one", "x") }
        #expect(fixture.leftovers == [])
    }

    @Test("Waiting for the disk changes nothing else", arguments: SystemUnderTest.allCases)
    func durable(_ system: SystemUnderTest) throws {
        var policy = RootPolicy()
        policy.waitsForDisk = true
        let fixture = try Fixture(system, policy: policy)
        #expect(try fixture.put("/a", "1").created && !fixture.put("/a", "2").created)
        try fixture.share.createDirectory(at: SharePath(text: "/d"))
        #expect(try fixture.copy("/a", to: "/d/b").created && fixture.copy("/d", to: "/e").created)
        #expect(try fixture.move("/e", to: "/f").created && fixture.remove("/f") == [] && fixture.remove("/a") == [])
        #expect(try fixture.list() == ["d"] && fixture.get("/d/b") == "2")
    }

    @Test("Leftovers of a crash are removed when they are old, and never seen", arguments: SystemUnderTest.allCases)
    func leftovers(_ system: SystemUnderTest) throws {
        let fixture = try Fixture(system)
        try fixture.directory.write("young", to: ".shareserve/tmp/.shareserve-1")
        try fixture.directory.write("young", to: "folder/.shareserve-2/file")
        #expect(try fixture.list("/folder") == [] && fixture.list() == ["folder"])
        _ = try DirectoryRoot(path: fixture.directory.path)
        #expect(fixture.directory.exists(".shareserve/tmp/.shareserve-1"))
        #expect(throws: RootError.notFound) { try fixture.get("/folder/.shareserve-2/file") }
        #expect(try fixture.remove("/folder") == [])
    }

    @Test("What is to come back comes back, however late the next start")
    func lateReturn() throws {
        let time = TestClock()
        let fixture = try Fixture(clock: time.clock)
        try fixture.directory.write("content", to: ".shareserve/tmp/.shareserve-1/below/file")
        try fixture.directory.write([0, 1] + Array("tree".utf8), to: ".shareserve/tmp/.shareserve-1.removal")
        time.turn(by: 86_400 * 40)
        let next = try Fixture(over: fixture.directory, clock: time.clock)
        try next.root.sweep()
        #expect(fixture.directory.text("tree/below/file") == "content" && fixture.leftovers == [])
        // A note about a missing tree waits while nothing has its name: the tree's disk may not be mounted yet.
        let note = ".shareserve/tmp/.shareserve-2.removal"
        try fixture.directory.write([0, 1] + Array("other".utf8), to: note)
        try next.root.sweep()
        #expect(fixture.directory.exists(note))
        try fixture.directory.write("x", to: "other/file")
        try next.root.sweep()
        #expect(fixture.leftovers == [] && fixture.directory.text("other/file") == "x")
        // A tree that may be removed is.
        try fixture.directory.write("x", to: ".shareserve/tmp/.shareserve-3/file")
        try fixture.directory.write([0, 2] + Array("gone".utf8), to: ".shareserve/tmp/.shareserve-3.removal")
        try next.root.sweep()
        #expect(fixture.leftovers == [] && !fixture.directory.exists("gone"))
    }

    @Test("What killed processes left goes after a day while the share is served, unless somebody still makes it")
    func oldLeftovers() throws {
        let time = TestClock()
        let fixture = try Fixture(clock: time.clock)
        let old = [
            ".shareserve/tmp/.shareserve-1", ".shareserve/tmp/.shareserve-2/half", ".shareserve/locks.new-ab",
            ".shareserve/trash/ab.record",
        ]
        for name in old { try fixture.directory.write("torn", to: name) }
        try fixture.directory.write("whole", to: ".shareserve/tmp/.shareserve-3/part")
        // Locked as a copy of a tree locks it.
        let copying = open(fixture.directory.path(of: ".shareserve/tmp/.shareserve-3"), O_RDONLY | O_DIRECTORY)
        #expect(sys_lock(copying, sys_lock_shared, 0) == 0)
        time.turn(by: 86_400 * 40)
        try fixture.root.sweep()
        #expect(old.filter(fixture.directory.exists) == [])
        #expect(fixture.directory.text(".shareserve/tmp/.shareserve-3/part") == "whole")
        close(copying)
        try fixture.root.sweep()
        #expect(fixture.leftovers == [])
    }
}

/// A tmpfs of a few megabytes, if the process may mount one.
final class SmallDisk {
    let path: String
    private let parent: TemporaryDirectory?

    init?(at place: String? = nil, megabytes: Int = 3) {
        parent = place == nil ? try? TemporaryDirectory() : nil
        guard let path = place ?? parent?.path, mount("none", path, "tmpfs", 0, "size=\(megabytes)m") == 0 else {
            return nil
        }
        self.path = path
    }

    /// A disk at `disk` in a share; cancels the test if none can be mounted.
    static func below(_ fixture: Fixture, megabytes: Int = 3) throws -> SmallDisk {
        try fixture.directory.makeDirectory("disk")
        guard let disk = SmallDisk(at: fixture.directory.path(of: "disk"), megabytes: megabytes) else {
            try Test.cancel("needs root: mounts a file system")
        }
        return disk
    }

    func unmount() { umount2(path, Int32(MNT_DETACH)) }
}

extension TemporaryDirectory {
    /// Sets or clears the flag that forbids even root to change a file; false if the file system has none.
    func setImmutable(_ isImmutable: Bool, _ member: String) -> Bool {
        let file = open(path(of: member), O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return false }
        defer { close(file) }
        var flags: Int = 0
        guard ioctl(file, 0x8008_6601, &flags) == 0 else { return false }
        flags = isImmutable ? flags | 0x10 : flags & ~0x10
        return ioctl(file, 0x4008_6602, &flags) == 0
    }
}
