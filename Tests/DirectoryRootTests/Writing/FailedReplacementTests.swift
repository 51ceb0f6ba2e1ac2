import TestSupport
import Testing

@testable import DirectoryRoot

/// Writes that fail after they began: the old content is back in its place, and nothing exists twice.
@Suite("Failed replacements", .serialized) struct FailedReplacementTests {
    private func fixture() throws -> Fixture {
        var policy = RootPolicy()
        policy.trashDays = 7
        let fixture = try Fixture(policy: policy)
        try fixture.directory.makeDirectory("disk")
        return fixture
    }

    @Test("What went to the trash for a copy or move that failed comes back under its name")
    func trash() throws {
        let fixture = try fixture()
        guard let disk = SmallDisk(at: fixture.directory.path(of: "disk")) else {
            try Test.cancel("needs root: mounts a file system")
        }
        defer { disk.unmount() }
        try fixture.directory.write("kept", to: "target/file")
        try fixture.directory.write("new", to: "disk/t/file")
        try fixture.directory.makeFIFO("disk/t/fifo")
        #expect(try !fixture.move("/disk/t", to: "/target").failures.isEmpty)
        #expect(fixture.directory.text("target/file") == "kept" && fixture.directory.text("disk/t/file") == "new")
        #expect(try fixture.share.trashItems().isEmpty && fixture.leftovers == [])
        #expect(fixture.directory.names(in: ".shareserve/trash") == [])
        // A successful one leaves the old folder in the trash, and the new one under the name.
        #expect(try fixture.remove("/disk/t") == [])
        try fixture.directory.write("new", to: "disk/t/file")
        #expect(try !fixture.move("/disk/t", to: "/target").created)
        #expect(fixture.directory.text("target/file") == "new" && !fixture.directory.exists("disk/t"))
        #expect(try fixture.share.trashItems().map(\.path) == [SharePath(text: "/target")])
    }

    @Test("A file that can't be taken away stays, and no copy of it comes")
    func immutableSource() throws {
        let fixture = try fixture()
        guard let disk = SmallDisk(at: fixture.directory.path(of: "disk")) else {
            try Test.cancel("needs root: mounts a file system")
        }
        defer { disk.unmount() }
        try fixture.directory.write("only", to: "file")
        guard fixture.directory.setImmutable(true, "file") else {
            try Test.cancel("needs root and a file system with immutable files")
        }
        defer { _ = fixture.directory.setImmutable(false, "file") }
        #expect(throws: RootError.forbidden) { try fixture.move("/file", to: "/disk/file") }
        #expect(fixture.directory.text("file") == "only" && fixture.directory.names(in: "disk") == [])
        #expect(throws: RootError.forbidden) { try fixture.remove("/file") }
        #expect(try fixture.share.trashItems().isEmpty && fixture.leftovers == [])
    }

    @Test("A folder that can't be taken away is said to be still there")
    func immutableFolder() throws {
        let fixture = try fixture()
        guard let disk = SmallDisk(at: fixture.directory.path(of: "disk")) else {
            try Test.cancel("needs root: mounts a file system")
        }
        defer { disk.unmount() }
        try fixture.directory.write("only", to: "t/file")
        guard fixture.directory.setImmutable(true, "t") else {
            try Test.cancel("needs root and a file system with immutable files")
        }
        defer { _ = fixture.directory.setImmutable(false, "t") }
        let failures = try fixture.move("/t", to: "/disk/t").failures
        #expect(failures == [MemberFailure(path: try SharePath(text: "/t/file"), error: .forbidden)])
        #expect(fixture.directory.text("t/file") == "only" && fixture.directory.text("disk/t/file") == "only")
    }
}
